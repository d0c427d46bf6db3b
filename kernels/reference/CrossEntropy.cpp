//===- reference/CrossEntropy.cpp - Cross-entropy behind a head -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Logits.h"
#include "reference/Reference.h"

#include <algorithm>
#include <cmath>

namespace cp::kernels::reference {

template <typename T, typename Acc>
static void passToken(const LinearCrossEntropyArgs<T> &args, int64_t b,
                      int64_t l, Acc *logits) {
  computeLogits(args, b, l, logits);
  int64_t rows = args.sliceRows();
  for (int64_t slice = 0; slice < args.slices; ++slice) {
    const Acc *begin = logits + slice * rows, *end = begin + rows;
    Acc most = *std::max_element(begin, end), sum = 0;
    for (const Acc *logit = begin; logit < end; ++logit)
      sum += std::exp(*logit - most);
    Acc lse = most + std::log(sum);
    int64_t row = args.rowIn(slice, args.labels.at(b, l));
    *args.losses.at(b, l, slice) =
        (args.isSliced() ? Acc(0) : lse) - (row < 0 ? Acc(0) : logits[row]);
    *args.lse.at(b, l, slice) = lse;
  }
}

template <typename T> const char *linearCrossEntropy(const Call &call) {
  using Acc = AccumulatorOf<T>;
  LinearCrossEntropyArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  auto *logits = static_cast<Acc *>(scratch(Slot::Kernel, carved<Acc>(args.v)));
  if (!logits)
    return outOfMemory("linear_cross_entropy");
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t l = 0; l < args.l; ++l)
      if (args.labels.at(b, l) == args.ignoreIndex)
        args.ignore(b, l);
      else
        passToken(args, b, l, logits);
  return nullptr;
}

template const char *linearCrossEntropy<float>(const Call &);
template const char *linearCrossEntropy<double>(const Call &);
template const char *linearCrossEntropy<BFloat16>(const Call &);

} // namespace cp::kernels::reference
