//===- CeilDiv.h - Division that rounds up ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_CEILDIV_H
#define CP_KERNELS_CPU_CEILDIV_H

#include <cstdint>

namespace cp::kernels {

/// How many parts of `part` cover `whole`. Static, since it is compiled for
/// each instruction set. Precondition: whole >= 0, part > 0.
static constexpr int64_t ceilDiv(int64_t whole, int64_t part) {
  return (whole + part - 1) / part;
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_CEILDIV_H
