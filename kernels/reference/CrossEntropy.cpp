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

template <typename T> const char *linearCrossEntropy(const Call &call) {
  using Acc = AccumulatorOf<T>;
  LinearCrossEntropyArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  auto *logits = static_cast<Acc *>(scratch(Slot::Kernel, carved<Acc>(args.v)));
  if (!logits)
    return outOfMemory("linear_cross_entropy");
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t l = 0; l < args.l; ++l) {
      int64_t label = args.labels.at(b, l);
      Acc lse = 0, loss = 0;
      if (label != args.ignoreIndex) {
        Acc most = computeLogits(args, b, l, logits), sum = 0;
        for (int64_t v = 0; v < args.v; ++v)
          sum += std::exp(logits[v] - most);
        lse = most + std::log(sum);
        loss = lse - logits[label];
      }
      *args.losses.at(b, l) = loss;
      *args.lse.at(b, l) = lse;
    }
  return nullptr;
}

template const char *linearCrossEntropy<float>(const Call &);
template const char *linearCrossEntropy<double>(const Call &);
template const char *linearCrossEntropy<BFloat16>(const Call &);

} // namespace cp::kernels::reference
