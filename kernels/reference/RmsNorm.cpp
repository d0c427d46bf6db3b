//===- reference/RmsNorm.cpp - Plain gated RMS norm -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpArguments.h"
#include "reference/Math.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

/// The value that is normalised.
template <typename T>
static AccumulatorOf<T> valueAt(const RmsNormArgs<T> &args, int64_t row,
                                int64_t c) {
  using Acc = AccumulatorOf<T>;
  Acc x = *args.x.at(row, c);
  if (args.gate.data && args.gateFirst)
    x *= silu(Acc(*args.gate.at(row, c)));
  return x;
}

template <typename T>
static void normalise(const RmsNormArgs<T> &args, int64_t row, int64_t first,
                      int64_t count) {
  using Acc = AccumulatorOf<T>;
  Acc squares = 0;
  for (int64_t c = first; c < first + count; ++c) {
    Acc value = valueAt(args, row, c);
    squares += value * value;
  }
  Acc scale = Acc(1) / std::sqrt(squares / Acc(count) + Acc(args.eps));
  for (int64_t c = first; c < first + count; ++c) {
    Acc value = valueAt(args, row, c) * scale;
    if (args.weight.data)
      value *= Acc(*args.weight.at(c));
    if (args.gate.data && !args.gateFirst)
      value *= silu(Acc(*args.gate.at(row, c)));
    *args.y.at(row, c) = T(value);
  }
}

template <typename T> const char *rmsNorm(const Call &call) {
  RmsNormArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  int64_t count = args.c / args.groups;
  for (int64_t row = 0; row < args.rows; ++row)
    for (int64_t group = 0; group < args.groups; ++group)
      normalise(args, row, group * count, count);
  return nullptr;
}

template const char *rmsNorm<float>(const Call &);
template const char *rmsNorm<double>(const Call &);
template const char *rmsNorm<BFloat16>(const Call &);

} // namespace cp::kernels::reference
