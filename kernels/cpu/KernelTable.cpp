//===- KernelTable.cpp - The table of CPU kernels -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "FlushToZero.h"
#include "Kernels.h"
#include "MoveKernels.h"
#include "fast/Table.h"
#include "reference/Reference.h"

#include <cstring>

namespace cp::kernels {

static const KernelEntry plainEntries[] = {
    {"matmul", DType::F32, KernelSet::Reference, reference::matmul<float>},
    {"matmul", DType::F64, KernelSet::Reference, reference::matmul<double>},
    {"matmul", DType::BF16, KernelSet::Reference, reference::matmul<BFloat16>},
    {"contract_rows", DType::F32, KernelSet::Reference,
     reference::contractRows<float>},
    {"contract_rows", DType::F64, KernelSet::Reference,
     reference::contractRows<double>},
    {"contract_rows", DType::BF16, KernelSet::Reference,
     reference::contractRows<BFloat16>},
    {"conv1d", DType::F32, KernelSet::Reference, reference::conv1d<float>},
    {"conv1d", DType::F64, KernelSet::Reference, reference::conv1d<double>},
    {"conv1d", DType::BF16, KernelSet::Reference, reference::conv1d<BFloat16>},
    {"rms_norm", DType::F32, KernelSet::Reference, reference::rmsNorm<float>},
    {"rms_norm", DType::F64, KernelSet::Reference, reference::rmsNorm<double>},
    {"rms_norm", DType::BF16, KernelSet::Reference,
     reference::rmsNorm<BFloat16>},
    {"ssd", DType::F32, KernelSet::Reference, reference::ssd<float>},
    {"ssd", DType::F64, KernelSet::Reference, reference::ssd<double>},
    {"ssd", DType::BF16, KernelSet::Reference, reference::ssd<BFloat16>},
    {"ssd_states", DType::F32, KernelSet::Reference,
     reference::ssdStates<float>},
    {"ssd_states", DType::F64, KernelSet::Reference,
     reference::ssdStates<double>},
    {"ssd_states", DType::BF16, KernelSet::Reference,
     reference::ssdStates<BFloat16>},
    {"ssd_scan", DType::F32, KernelSet::Reference, reference::ssdScan<float>},
    {"ssd_scan", DType::F64, KernelSet::Reference, reference::ssdScan<double>},
    {"ssd_scan", DType::BF16, KernelSet::Reference,
     reference::ssdScan<BFloat16>},
    {"attention", DType::F32, KernelSet::Reference,
     reference::attention<float>},
    {"attention", DType::F64, KernelSet::Reference,
     reference::attention<double>},
    {"attention", DType::BF16, KernelSet::Reference,
     reference::attention<BFloat16>},
    // A pass over memory, next to what its parts cost: it serves both sets, as
    // does what only moves elements.
    {"attention_merge", DType::F32, KernelSet::Reference,
     flushing<reference::attentionMerge<float>>},
    {"attention_merge", DType::F64, KernelSet::Reference,
     flushing<reference::attentionMerge<double>>},
    {"rotary", DType::F32, KernelSet::Reference, reference::rotary<float>},
    {"rotary", DType::F64, KernelSet::Reference, reference::rotary<double>},
    {"rotary", DType::BF16, KernelSet::Reference, reference::rotary<BFloat16>},
    {"embedding", DType::F32, KernelSet::Reference, embeddingKernel},
    {"embedding", DType::F64, KernelSet::Reference, embeddingKernel},
    {"embedding", DType::BF16, KernelSet::Reference, embeddingKernel},
    {"attention_grad", DType::F32, KernelSet::Reference,
     flushing<reference::attentionGrad<float>>},
    {"attention_grad", DType::F64, KernelSet::Reference,
     flushing<reference::attentionGrad<double>>},
    {"attention_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::attentionGrad<BFloat16>>},
    {"attention_grad_block", DType::F32, KernelSet::Reference,
     flushing<reference::attentionGradBlock<float>>},
    {"attention_grad_block", DType::F64, KernelSet::Reference,
     flushing<reference::attentionGradBlock<double>>},
    {"attention_grad_block", DType::BF16, KernelSet::Reference,
     flushing<reference::attentionGradBlock<BFloat16>>},
    {"conv1d_grad", DType::F32, KernelSet::Reference,
     flushing<reference::conv1dGrad<float>>},
    {"conv1d_grad", DType::F64, KernelSet::Reference,
     flushing<reference::conv1dGrad<double>>},
    {"conv1d_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::conv1dGrad<BFloat16>>},
    {"rms_norm_grad", DType::F32, KernelSet::Reference,
     flushing<reference::rmsNormGrad<float>>},
    {"rms_norm_grad", DType::F64, KernelSet::Reference,
     flushing<reference::rmsNormGrad<double>>},
    {"rms_norm_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::rmsNormGrad<BFloat16>>},
    {"ssd_grad", DType::F32, KernelSet::Reference,
     flushing<reference::ssdGrad<float>>},
    {"ssd_grad", DType::F64, KernelSet::Reference,
     flushing<reference::ssdGrad<double>>},
    {"ssd_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::ssdGrad<BFloat16>>},
    {"ssd_grad_states", DType::F32, KernelSet::Reference,
     flushing<reference::ssdGradStates<float>>},
    {"ssd_grad_states", DType::F64, KernelSet::Reference,
     flushing<reference::ssdGradStates<double>>},
    {"ssd_grad_states", DType::BF16, KernelSet::Reference,
     flushing<reference::ssdGradStates<BFloat16>>},
    {"embedding_grad", DType::F32, KernelSet::Reference,
     flushing<reference::embeddingGrad<float>>},
    {"embedding_grad", DType::F64, KernelSet::Reference,
     flushing<reference::embeddingGrad<double>>},
    {"embedding_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::embeddingGrad<BFloat16>>},
    {"linear_cross_entropy", DType::F32, KernelSet::Reference,
     flushing<reference::linearCrossEntropy<float>>},
    {"linear_cross_entropy", DType::F64, KernelSet::Reference,
     flushing<reference::linearCrossEntropy<double>>},
    {"linear_cross_entropy", DType::BF16, KernelSet::Reference,
     flushing<reference::linearCrossEntropy<BFloat16>>},
    {"linear_cross_entropy_grad", DType::F32, KernelSet::Reference,
     flushing<reference::linearCrossEntropyGrad<float>>},
    {"linear_cross_entropy_grad", DType::F64, KernelSet::Reference,
     flushing<reference::linearCrossEntropyGrad<double>>},
    {"linear_cross_entropy_grad", DType::BF16, KernelSet::Reference,
     flushing<reference::linearCrossEntropyGrad<BFloat16>>},
    {"squared_norm", DType::F32, KernelSet::Reference,
     flushing<reference::squaredNorm<float>>},
    {"squared_norm", DType::F64, KernelSet::Reference,
     flushing<reference::squaredNorm<double>>},
    {"squared_norm", DType::BF16, KernelSet::Reference,
     flushing<reference::squaredNorm<BFloat16>>},
    {"document_places", DType::I32, KernelSet::Reference,
     reference::documentPlaces},
    {"sum", DType::F64, KernelSet::Reference, reference::sum},
    {"sum_rows", DType::F32, KernelSet::Reference, reference::sumRows<float>},
    {"sum_rows", DType::F64, KernelSet::Reference, reference::sumRows<double>},
    {"sum_rows", DType::BF16, KernelSet::Reference,
     reference::sumRows<BFloat16>},
    {"join_states", DType::F32, KernelSet::Reference,
     flushing<reference::joinStates<float>>},
    {"join_states", DType::F64, KernelSet::Reference,
     flushing<reference::joinStates<double>>},
    {"join_decays", DType::F32, KernelSet::Reference,
     flushing<reference::joinDecays<float>>},
    {"join_decays", DType::F64, KernelSet::Reference,
     flushing<reference::joinDecays<double>>},
    {"sgd", DType::F32, KernelSet::Reference, flushing<reference::sgd<float>>},
    {"sgd", DType::F64, KernelSet::Reference, flushing<reference::sgd<double>>},
    {"adamw", DType::F32, KernelSet::Reference,
     flushing<reference::adamw<float>>},
    {"adamw", DType::F64, KernelSet::Reference,
     flushing<reference::adamw<double>>},
    {"accumulate", DType::F32, KernelSet::Reference,
     flushing<reference::accumulate<float>>},
    {"accumulate", DType::F64, KernelSet::Reference,
     flushing<reference::accumulate<double>>},
    {"copy", DType::F32, KernelSet::Reference, copyKernel},
    {"copy", DType::F64, KernelSet::Reference, copyKernel},
    {"copy", DType::BF16, KernelSet::Reference, copyKernel},
    {"copy", DType::I32, KernelSet::Reference, copyKernel},
    {"copy", DType::I64, KernelSet::Reference, copyKernel},
    {"repeat", DType::F32, KernelSet::Reference, repeatKernel},
    {"repeat", DType::F64, KernelSet::Reference, repeatKernel},
    {"repeat", DType::BF16, KernelSet::Reference, repeatKernel},
    {"repeat", DType::I32, KernelSet::Reference, repeatKernel},
    {"repeat", DType::I64, KernelSet::Reference, repeatKernel},
};
static constexpr size_t plainCount = sizeof plainEntries / sizeof *plainEntries;

/// The best table this processor can run.
static const fast::Table &fastTable() {
#if defined(CP_WIDE_KERNELS)
  if (__builtin_cpu_supports("x86-64-v4") &&
      __builtin_cpu_supports("avx512bf16"))
    return fast::avx512Bf16Table();
  if (__builtin_cpu_supports("x86-64-v4"))
    return fast::avx512Table();
  if (__builtin_cpu_supports("x86-64-v3"))
    return fast::avx2Table();
#endif
  return fast::portableTable();
}

namespace {
struct AllEntries {
  KernelEntry entries[plainCount + fast::tableSize];

  AllEntries() {
    std::memcpy(entries, plainEntries, sizeof plainEntries);
    std::memcpy(entries + plainCount, fastTable(), sizeof(fast::Table));
  }
};
} // namespace

const KernelEntry *cpuKernels(size_t &count) {
  static const AllEntries all;
  count = plainCount + fast::tableSize;
  return all.entries;
}

static const KernelEntry *replacements = nullptr;
static size_t numReplacements = 0;

void replaceFastKernels(const KernelEntry *entries, size_t count) {
  replacements = entries;
  numReplacements = count;
}

static bool isFor(const KernelEntry &entry, const char *op, DType dtype) {
  return entry.dtype == dtype && std::strcmp(entry.op, op) == 0;
}

KernelFn findCpuKernel(const char *op, DType dtype, KernelSet set) {
  if (set == KernelSet::Fast)
    for (size_t i = 0; i < numReplacements; ++i)
      if (isFor(replacements[i], op, dtype))
        return replacements[i].fn;
  size_t count;
  const KernelEntry *entries = cpuKernels(count);
  KernelFn plain = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const KernelEntry &entry = entries[i];
    if (!isFor(entry, op, dtype))
      continue;
    if (entry.set == set)
      return entry.fn;
    if (entry.set == KernelSet::Reference)
      plain = entry.fn;
  }
  return plain;
}

} // namespace cp::kernels
