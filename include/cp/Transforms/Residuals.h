//===- Residuals.h - What is kept for the backward pass ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_RESIDUALS_H
#define CP_TRANSFORMS_RESIDUALS_H

#include <cstdint>

namespace cp {

/// The options of cp-plan-residuals.
struct ResidualOptions {
  /// Bytes; 0: all is kept.
  int64_t limit = 0;
  /// What has travelled may travel again.
  bool exchanges = false;
};

} // namespace cp

#endif // CP_TRANSFORMS_RESIDUALS_H
