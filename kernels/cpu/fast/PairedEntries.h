//===- fast/PairedEntries.h - Instances that multiply bf16 ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_PAIREDENTRIES_H
#define CP_KERNELS_CPU_FAST_PAIREDENTRIES_H

#include "FlushToZero.h"
#include "fast/Matmul.h"
#include "fast/SsdSegments.h"
#include "fast/Table.h"

#include <cstring>

namespace cp::kernels::fast {

/// Another table, with products of bf16 by pairs. Beside what Vec.h asks of it,
/// `Isa` has
///
///   dot(sum, a, b)        sum + a.even b.even + a.odd b.odd in each lane, each
///                         step rounded to f32
///   pair(even, odd)       the pair of even[i] and odd[i], rounded to bf16, in
///                         each lane
///   narrow(first, second) first[i] and then second[i], rounded to bf16
template <typename Isa> struct PairedEntries {
  Table table;

  explicit PairedEntries(const Table &base) {
    std::memcpy(table, base, sizeof table);
    replace("matmul", flushing<Matmul<Isa, BFloat16, Pair>::run>);
    replace("ssd", flushing<SsdSegments<Isa, BFloat16, Pair>::run>);
    replace("ssd_states", flushing<SsdStates<Isa, BFloat16, Pair>::run>);
    replace("ssd_scan", flushing<SsdScan<Isa, BFloat16, Pair>::run>);
  }

private:
  void replace(const char *op, KernelFn fn) {
    for (KernelEntry &entry : table)
      if (entry.dtype == DType::BF16 && std::strcmp(entry.op, op) == 0)
        entry.fn = fn;
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_PAIREDENTRIES_H
