//===- Rows.h - Rows of a batch for a model -----------------------*- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_ROWS_H
#define CP_TOOLS_RUNNING_ROWS_H

#include "RunFlags.h"
#include "cp/Execution/RowBatch.h"

namespace cp {

/// What --rows, which is there, gives for the arguments that are no parameters:
/// the rows of a .safetensors file, or documents that are a file each. Errors
/// name the file: what RowBatch::make refuses, tensors that neither the model
/// takes nor a batch is described by, documents that do not fit.
llvm::Expected<RowBatch> readRows(const RunFlags &options,
                                  llvm::ArrayRef<TensorSpec> specs);

} // namespace cp

#endif // CP_TOOLS_RUNNING_ROWS_H
