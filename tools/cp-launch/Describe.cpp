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
  int64_t updates = 0;
  for (const TensorSpec &spec : specs) {
    if (!spec.updates.empty()) {
      ++updates;
      continue;
    }
    os << "  " << spec.name << "  " << dtypeName(spec.dtype) << " "
       << shapeText(spec.shape) << "  "
       << shapeText(localShape(spec.layout, spec.shape)) << " a rank";
    if (llvm::StringRef role = roleOf(spec); !role.empty())
      os << "  " << role;
    os << "\n";
  }
  if (updates)
    os << "  and the new values of " << updates << " arguments\n";
}

void describe(const ProgramFile &file, llvm::raw_ostream &os) {
  const Program &first = *file.programs.front();
  os << "mesh      " << meshText(first.mesh()) << " ("
     << first.mesh().numRanks() << " ranks)\n";
  llvm::json::Object origin = file.origin;
  if (const llvm::json::Object *processor = origin.getObject("processor"))
    os << "made for  " << processor->getString("cpu").value_or("") << "\n";
  origin.erase("processor");
  os << "made of   " << llvm::json::Value(std::move(origin)) << "\n";
  for (const auto &program : file.programs) {
    os << "a rank    works on " << bytesText(program->arenaBytes())
       << " beside these\n";
    print("arguments", program->arguments(), os);
    print("results", program->results(), os);
  }
}

} // namespace cp
