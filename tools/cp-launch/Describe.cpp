//===- Describe.cpp - What a file of programs holds -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

namespace cp {

static llvm::StringRef roleOf(const TensorSpec &spec) {
  if (spec.isParam)
    return "weight";
  if (spec.isState || spec.isAccumulator)
    return "optimizer";
  return spec.isResidual ? "residual" : "";
}

static void print(llvm::StringRef title, llvm::ArrayRef<TensorSpec> specs,
                  llvm::raw_ostream &os) {
  os << title << "\n";
  for (const TensorSpec &spec : specs) {
    os << "  " << spec.name << "  " << dtypeName(spec.dtype) << " "
       << shapeText(spec.shape) << "  "
       << shapeText(localShape(spec.layout, spec.shape, 0)) << " a rank";
    if (llvm::StringRef role = roleOf(spec); !role.empty())
      os << "  " << role;
    if (!spec.updates.empty())
      os << "  updates " << spec.updates;
    os << "\n";
  }
}

void describe(const ProgramFile &file, llvm::raw_ostream &os) {
  const Program &first = *file.programs.front();
  os << "mesh      " << meshText(first.mesh()) << " ("
     << first.mesh().numRanks() << " ranks)\n";
  llvm::json::Object origin = file.origin;
  os << "made of   " << llvm::json::Value(std::move(origin)) << "\n";
  for (const auto &program : file.programs) {
    os << "a rank    works on " << bytesText(program->arenaBytes())
       << " beside these\n";
    print("arguments", program->arguments(), os);
    print("results", program->results(), os);
  }
}

} // namespace cp
