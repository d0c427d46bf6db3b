//===- fast/Entries.h - Instances for one instruction set -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ENTRIES_H
#define CP_KERNELS_CPU_FAST_ENTRIES_H

#include "fast/Attention.h"
#include "fast/Conv1d.h"
#include "fast/Matmul.h"
#include "fast/RmsNorm.h"
#include "fast/Ssd.h"
#include "fast/SsdScan.h"
#include "fast/SsdSegments.h"
#include "fast/SsdStates.h"
#include "fast/Table.h"

namespace cp::kernels::fast {

template <typename Isa> struct Entries {
  static constexpr KernelSet set = KernelSet::Fast;
  static constexpr Table table = {
      {"matmul", DType::F32, set, Matmul<Isa, float>::run},
      {"matmul", DType::F64, set, Matmul<Isa, double>::run},
      {"matmul", DType::BF16, set, Matmul<Isa, BFloat16>::run},
      {"conv1d", DType::F32, set, Conv1d<Isa, float>::run},
      {"conv1d", DType::F64, set, Conv1d<Isa, double>::run},
      {"conv1d", DType::BF16, set, Conv1d<Isa, BFloat16>::run},
      {"rms_norm", DType::F32, set, RmsNorm<Isa, float>::run},
      {"rms_norm", DType::F64, set, RmsNorm<Isa, double>::run},
      {"rms_norm", DType::BF16, set, RmsNorm<Isa, BFloat16>::run},
      {"ssd", DType::F32, set, SsdSegments<Isa, float>::run},
      {"ssd", DType::F64, set, SsdSegments<Isa, double>::run},
      {"ssd", DType::BF16, set, SsdSegments<Isa, BFloat16>::run},
      {"ssd_states", DType::F32, set, SsdStates<Isa, float>::run},
      {"ssd_states", DType::F64, set, SsdStates<Isa, double>::run},
      {"ssd_states", DType::BF16, set, SsdStates<Isa, BFloat16>::run},
      {"ssd_scan", DType::F32, set, SsdScan<Isa, float>::run},
      {"ssd_scan", DType::F64, set, SsdScan<Isa, double>::run},
      {"ssd_scan", DType::BF16, set, SsdScan<Isa, BFloat16>::run},
      {"attention", DType::F32, set, Attention<Isa, float>::run},
      {"attention", DType::F64, set, Attention<Isa, double>::run},
      {"attention", DType::BF16, set, Attention<Isa, BFloat16>::run},
  };
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ENTRIES_H
