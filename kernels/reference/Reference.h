//===- reference/Reference.h - The plain kernels ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Textbook loops, the numerical oracle. Sums run in the order of their index,
// every product and sum is rounded on its own, and no result depends on how
// many rows, heads or channels the call has: a call on a part gives bitwise the
// numbers of a call on the whole.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_REFERENCE_REFERENCE_H
#define CP_KERNELS_REFERENCE_REFERENCE_H

#include "Kernels.h"

namespace cp::kernels::reference {

/// For T = float, double and BFloat16, whose sums and states are floats,
/// rounded once when they are stored. See cprt.h for the operations and
/// Kernels.h for the result.
template <typename T> const char *matmul(const Call &call);
template <typename T> const char *contractRows(const Call &call);
template <typename T> const char *conv1d(const Call &call);
template <typename T> const char *rmsNorm(const Call &call);
template <typename T> const char *ssd(const Call &call);
template <typename T> const char *ssdStates(const Call &call);
template <typename T> const char *ssdScan(const Call &call);
template <typename T> const char *attention(const Call &call);
template <typename T> const char *rotary(const Call &call);
template <typename T> const char *linearCrossEntropy(const Call &call);
template <typename T> const char *linearCrossEntropyGrad(const Call &call);
template <typename T> const char *attentionGrad(const Call &call);
template <typename T> const char *attentionGradBlock(const Call &call);
template <typename T> const char *conv1dGrad(const Call &call);
template <typename T> const char *rmsNormGrad(const Call &call);
template <typename T> const char *ssdGrad(const Call &call);
template <typename T> const char *ssdGradStates(const Call &call);
template <typename T> const char *embeddingGrad(const Call &call);
const char *documentPlaces(const Call &call);
const char *sum(const Call &call);
template <typename T> const char *sumRows(const Call &call);
template <typename T> const char *squaredNorm(const Call &call);
/// For float and double.
template <typename T> const char *joinStates(const Call &call);
template <typename T> const char *joinDecays(const Call &call);
template <typename T> const char *sgd(const Call &call);
template <typename T> const char *adamw(const Call &call);
template <typename T> const char *accumulate(const Call &call);
/// For float and double.
template <typename Acc> const char *attentionMerge(const Call &call);

} // namespace cp::kernels::reference

#endif // CP_KERNELS_REFERENCE_REFERENCE_H
