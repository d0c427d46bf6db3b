//===- fast/Table.h - The fast kernels of one instruction set ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_TABLE_H
#define CP_KERNELS_CPU_FAST_TABLE_H

#include "Kernels.h"

namespace cp::kernels::fast {

/// Every table has the same operations in the same order.
constexpr size_t tableSize = 60;
using Table = KernelEntry[tableSize];

/// For any processor. Static storage.
const Table &portableTable();
/// For x86-64-v3 (AVX2 and FMA) and x86-64-v4 (AVX-512). Defined on x86-64
/// only; to be used where the processor has these instructions.
const Table &avx2Table();
const Table &avx512Table();
/// For x86-64-v4 with AVX512-BF16.
const Table &avx512Bf16Table();

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_TABLE_H
