//===- Rows.h - What the worker can be asked --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_ROWS_H
#define CP_BENCHMARKS_WORKER_ROWS_H

#include "Question.h"

#include "mlir/IR/MLIRContext.h"

namespace cp::bench {

/// fma-f32, fma-bf16: operations a second; copy: bytes read and written a
/// second. The best of several repetitions, with `threads` threads.
void addPeakRows(RowTable &rows);

/// matmul, conv1d, rms_norm, ssd, attention: seconds of a kernel. `evaluate`
/// runs one of these on numbers from files: see KernelRows.cpp.
void addKernelRows(RowTable &rows);

/// all_to_all: seconds of an exchange between ranks that are threads.
void addExchangeRows(RowTable &rows);

/// mixer, model, dispatch: seconds of a step of a compiled program (dispatch:
/// of one of its layers).
void addProgramRows(RowTable &rows, mlir::MLIRContext &context);

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_ROWS_H
