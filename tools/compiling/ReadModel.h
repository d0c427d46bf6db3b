//===- ReadModel.h - The model of the command line --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_COMPILING_READMODEL_H
#define CP_TOOLS_COMPILING_READMODEL_H

#include "RunFlags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <optional>

namespace cp {

/// Sizes and type of a model that is a configuration; 0 and empty: not given.
struct ModelSizes {
  /// Nothing: what is usual.
  std::optional<int64_t> batchSize, sequence;
  std::string dtype;
  /// The most documents of a row of it; 0: each row is one.
  int64_t documents = 0;
};

/// The flags that set them.
void defineSizes(ModelSizes &sizes, llvm::cl::OptionCategory &category);

/// The file of a model, not read yet; "-" for what comes in. Errors: there is
/// none; it is a compiled program.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openModel(const std::string &path);

/// Reads a module, or a config.json, of which it makes one. `sources` gets the
/// text, for diagnostics, which say what is wrong with it.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(const std::string &path, const ModelSizes &sizes,
          mlir::MLIRContext &context, llvm::SourceMgr &sources);

} // namespace cp

#endif // CP_TOOLS_COMPILING_READMODEL_H
