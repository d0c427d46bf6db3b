//===- reference/AttentionMerge.cpp - Two parts of an attention -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With weight = sigmoid(lse2 - lse1), the share that the second part has in the
// sum of exponentials of both:
//
//   o = o1 - weight (o1 - o2),   lse = lse1 - log(1 - weight)
//
// The share is formed from a difference that is not positive, so nothing
// overflows, and a part without keys (lse = -inf) leaves the other one as it
// is, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "OpArguments.h"
#include "reference/Reference.h"

#include <cmath>
#include <limits>
#include <utility>

namespace cp::kernels::reference {

/// Row `row` of head `h`, written to `o`.
template <typename Acc, typename To>
static void mergeRow(const AttentionMergeArgs<Acc> &args, const View<To, 4> &o,
                     int64_t b, int64_t row, int64_t h) {
  constexpr Acc none = -std::numeric_limits<Acc>::infinity();
  // The larger part first: the smaller one is the correction.
  int large = 0, small = 1;
  if (*args.lses[1].at(b, h, row) > *args.lses[0].at(b, h, row))
    std::swap(large, small);
  Acc largeLse = *args.lses[large].at(b, h, row);
  Acc smallLse = *args.lses[small].at(b, h, row);
  const Acc *from = args.parts[large].at(b, row, h);
  const Acc *other = args.parts[small].at(b, row, h);
  int64_t fromStep = args.parts[large].strides[3];
  int64_t otherStep = args.parts[small].strides[3];
  To *to = o.at(b, row, h);
  if (smallLse == none) {
    for (int64_t i = 0; i < args.dv; ++i)
      to[i * o.strides[3]] = To(from[i * fromStep]);
    *args.lse.at(b, h, row) = largeLse;
    return;
  }
  Acc ratio = std::exp(smallLse - largeLse);
  Acc weight = ratio / (Acc(1) + ratio);
  for (int64_t i = 0; i < args.dv; ++i) {
    Acc value = from[i * fromStep];
    to[i * o.strides[3]] = To(value - weight * (value - other[i * otherStep]));
  }
  *args.lse.at(b, h, row) = largeLse + std::log1p(ratio);
}

template <typename Acc> const char *attentionMerge(const Call &call) {
  AttentionMergeArgs<Acc> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t row = 0; row < args.l; ++row)
      for (int64_t h = 0; h < args.h; ++h)
        if (args.rounded.data)
          mergeRow(args, args.rounded, b, row, h);
        else
          mergeRow(args, args.o, b, row, h);
  return nullptr;
}

template const char *attentionMerge<float>(const Call &);
template const char *attentionMerge<double>(const Call &);

} // namespace cp::kernels::reference
