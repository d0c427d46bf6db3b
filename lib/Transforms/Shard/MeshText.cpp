//===- MeshText.cpp - Meshes in pass options --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Sharding.h"

using namespace mlir;

namespace cp {

std::optional<Mesh> parseMesh(StringRef text, std::string &message) {
  Mesh mesh;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size;
    if (number.trim().getAsInteger(10, size)) {
      message = "mesh '" + text.str() +
                "' must be axes and sizes such as dp=2,cp=4, but '" +
                part.str() + "' is not";
      return std::nullopt;
    }
    mesh.axes.push_back({name.trim().str(), size});
  }
  if (std::optional<std::string> wrong = check(mesh)) {
    message = "mesh '" + text.str() + "': " + *wrong;
    return std::nullopt;
  }
  return mesh;
}

} // namespace cp
