//===- Clock.h - What time is measured by -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_CLOCK_H
#define CP_LIB_RUNTIME_CLOCK_H

#include <chrono>

namespace cp::runtime {

/// Never goes back.
using Clock = std::chrono::steady_clock;

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_CLOCK_H
