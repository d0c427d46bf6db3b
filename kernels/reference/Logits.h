//===- reference/Logits.h - A token's logits --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_REFERENCE_LOGITS_H
#define CP_KERNELS_REFERENCE_LOGITS_H

#include <cstdint>

namespace cp::kernels::reference {

/// The products of a token's h with the rows of the weight.
template <typename Args, typename Acc>
void computeLogits(const Args &args, int64_t b, int64_t l, Acc *logits) {
  for (int64_t v = 0; v < args.v; ++v) {
    Acc sum = 0;
    for (int64_t i = 0; i < args.d; ++i)
      sum += Acc(*args.h.at(b, l, i)) * Acc(*args.weight.at(v, i));
    logits[v] = sum;
  }
}

} // namespace cp::kernels::reference

#endif // CP_KERNELS_REFERENCE_LOGITS_H
