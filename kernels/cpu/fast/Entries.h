//===- fast/Entries.h - Instances for one instruction set -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ENTRIES_H
#define CP_KERNELS_CPU_FAST_ENTRIES_H

#include "FlushToZero.h"
#include "fast/Attention.h"
#include "fast/AttentionGrad.h"
#include "fast/Conv1d.h"
#include "fast/Conv1dGrad.h"
#include "fast/CrossEntropy.h"
#include "fast/CrossEntropyGrad.h"
#include "fast/EmbeddingGrad.h"
#include "fast/Matmul.h"
#include "fast/RmsNorm.h"
#include "fast/RmsNormGrad.h"
#include "fast/Ssd.h"
#include "fast/SsdGrad.h"
#include "fast/SsdScan.h"
#include "fast/SsdSegments.h"
#include "fast/SsdStates.h"
#include "fast/Table.h"
#include "fast/Update.h"

namespace cp::kernels::fast {

template <typename Isa> struct Entries {
  static constexpr KernelSet set = KernelSet::Fast;
  static constexpr Table table = {
      {"matmul", DType::F32, set, flushing<Matmul<Isa, float>::run>},
      {"matmul", DType::F64, set, flushing<Matmul<Isa, double>::run>},
      {"matmul", DType::BF16, set, flushing<Matmul<Isa, BFloat16>::run>},
      {"contract_rows", DType::F32, set, flushing<contractRows<Isa, float>>},
      {"contract_rows", DType::F64, set, flushing<contractRows<Isa, double>>},
      {"contract_rows", DType::BF16, set,
       flushing<contractRows<Isa, BFloat16>>},
      {"linear_cross_entropy", DType::F32, set,
       flushing<LinearCrossEntropy<Isa, float>::run>},
      {"linear_cross_entropy", DType::F64, set,
       flushing<LinearCrossEntropy<Isa, double>::run>},
      {"linear_cross_entropy", DType::BF16, set,
       flushing<LinearCrossEntropy<Isa, BFloat16>::run>},
      {"linear_cross_entropy_grad", DType::F32, set,
       flushing<LinearCrossEntropyGrad<Isa, float>::run>},
      {"linear_cross_entropy_grad", DType::F64, set,
       flushing<LinearCrossEntropyGrad<Isa, double>::run>},
      {"linear_cross_entropy_grad", DType::BF16, set,
       flushing<LinearCrossEntropyGrad<Isa, BFloat16>::run>},
      {"conv1d", DType::F32, set, flushing<Conv1d<Isa, float>::run>},
      {"conv1d", DType::F64, set, flushing<Conv1d<Isa, double>::run>},
      {"conv1d", DType::BF16, set, flushing<Conv1d<Isa, BFloat16>::run>},
      {"rms_norm", DType::F32, set, flushing<RmsNorm<Isa, float>::run>},
      {"rms_norm", DType::F64, set, flushing<RmsNorm<Isa, double>::run>},
      {"rms_norm", DType::BF16, set, flushing<RmsNorm<Isa, BFloat16>::run>},
      {"ssd", DType::F32, set, flushing<SsdSegments<Isa, float>::run>},
      {"ssd", DType::F64, set, flushing<SsdSegments<Isa, double>::run>},
      {"ssd", DType::BF16, set, flushing<SsdSegments<Isa, BFloat16>::run>},
      {"ssd_states", DType::F32, set, flushing<SsdStates<Isa, float>::run>},
      {"ssd_states", DType::F64, set, flushing<SsdStates<Isa, double>::run>},
      {"ssd_states", DType::BF16, set, flushing<SsdStates<Isa, BFloat16>::run>},
      {"ssd_scan", DType::F32, set, flushing<SsdScan<Isa, float>::run>},
      {"ssd_scan", DType::F64, set, flushing<SsdScan<Isa, double>::run>},
      {"ssd_scan", DType::BF16, set, flushing<SsdScan<Isa, BFloat16>::run>},
      {"conv1d_grad", DType::F32, set, flushing<Conv1dGrad<Isa, float>::run>},
      {"conv1d_grad", DType::F64, set, flushing<Conv1dGrad<Isa, double>::run>},
      {"conv1d_grad", DType::BF16, set,
       flushing<Conv1dGrad<Isa, BFloat16>::run>},
      {"rms_norm_grad", DType::F32, set,
       flushing<RmsNormGrad<Isa, float>::run>},
      {"rms_norm_grad", DType::F64, set,
       flushing<RmsNormGrad<Isa, double>::run>},
      {"rms_norm_grad", DType::BF16, set,
       flushing<RmsNormGrad<Isa, BFloat16>::run>},
      {"embedding_grad", DType::F32, set,
       flushing<EmbeddingGrad<Isa, float>::run>},
      {"embedding_grad", DType::F64, set,
       flushing<EmbeddingGrad<Isa, double>::run>},
      {"embedding_grad", DType::BF16, set,
       flushing<EmbeddingGrad<Isa, BFloat16>::run>},
      {"ssd_grad", DType::F32, set, flushing<SsdGrad<Isa, float>::run>},
      {"ssd_grad", DType::F64, set, flushing<SsdGrad<Isa, double>::run>},
      {"ssd_grad", DType::BF16, set, flushing<SsdGrad<Isa, BFloat16>::run>},
      {"ssd_grad_states", DType::F32, set,
       flushing<SsdGradStates<Isa, float>::run>},
      {"ssd_grad_states", DType::F64, set,
       flushing<SsdGradStates<Isa, double>::run>},
      {"ssd_grad_states", DType::BF16, set,
       flushing<SsdGradStates<Isa, BFloat16>::run>},
      {"attention", DType::F32, set, flushing<Attention<Isa, float>::run>},
      {"attention", DType::F64, set, flushing<Attention<Isa, double>::run>},
      {"attention", DType::BF16, set, flushing<Attention<Isa, BFloat16>::run>},
      {"attention_grad", DType::F32, set,
       flushing<AttentionGrad<Isa, float>::run>},
      {"attention_grad", DType::F64, set,
       flushing<AttentionGrad<Isa, double>::run>},
      {"attention_grad", DType::BF16, set,
       flushing<AttentionGrad<Isa, BFloat16>::run>},
      {"attention_grad_block", DType::F32, set,
       flushing<AttentionGrad<Isa, float>::runBlock>},
      {"attention_grad_block", DType::F64, set,
       flushing<AttentionGrad<Isa, double>::runBlock>},
      {"attention_grad_block", DType::BF16, set,
       flushing<AttentionGrad<Isa, BFloat16>::runBlock>},
      {"squared_norm", DType::F32, set, flushing<SquaredNorm<Isa, float>::run>},
      {"squared_norm", DType::F64, set,
       flushing<SquaredNorm<Isa, double>::run>},
      {"squared_norm", DType::BF16, set,
       flushing<SquaredNorm<Isa, BFloat16>::run>},
      {"sgd", DType::F32, set, flushing<Update<Isa, float>::sgd>},
      {"sgd", DType::F64, set, flushing<Update<Isa, double>::sgd>},
      {"adamw", DType::F32, set, flushing<Update<Isa, float>::adamw>},
      {"adamw", DType::F64, set, flushing<Update<Isa, double>::adamw>},
      {"accumulate", DType::F32, set, flushing<Update<Isa, float>::accumulate>},
      {"accumulate", DType::F64, set,
       flushing<Update<Isa, double>::accumulate>},
  };
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ENTRIES_H
