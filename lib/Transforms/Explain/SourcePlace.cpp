//===- SourcePlace.cpp - Where in a file an op comes from -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/SourcePlace.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::string cp::sourcePlace(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "-";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}
