//===- Options.h - How a batch is padded, packed and cut --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_OPTIONS_H
#define CP_LIB_RUNTIME_BATCH_OPTIONS_H

#include "cp/Layout/Cut.h"
#include "cp/Runtime/cprt_batch.h"

#include "Core/Status.h"

namespace cp::batch {

using runtime::Error;
using runtime::Failure;

/// The caller's options, with defaults in place of zeros.
struct Options {
  int64_t ranks = 1;
  Cut cut;
  bool packs = false, perDocument = false, shiftLabels = false;
  /// Of what is cut, the number of tokens is a multiple.
  int64_t divisor = 1;
  /// What rows, and documents of whose padding we decide, are padded to.
  int64_t padTo = 1;
  /// 0: as many as needed.
  int64_t length = 0, documents = 0;
  int64_t chunks = 1;
  int64_t paddingId = 0, sentinel = -1000;
};

/// "batch_cN: ...", a CPRT_INVALID_ARGUMENT.
Failure refuse(int number, std::string text);

/// The least multiple of `step` that is no less.
int64_t roundUp(int64_t number, int64_t step);

Error readOptions(const cprt_batch_options *given, Options &options);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_OPTIONS_H
