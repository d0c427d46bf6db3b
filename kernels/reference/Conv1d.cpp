//===- reference/Conv1d.cpp - Plain causal convolution --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpArguments.h"
#include "reference/Math.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

/// Row t of the input, where t >= -(w - 1); rows before 0 are those of
/// `initial`, or zeros.
template <typename T>
static T inputAt(const Conv1dArgs<T> &args, int64_t b, int64_t t, int64_t c) {
  if (t >= 0)
    return *args.x.at(b, t, c);
  return args.initial.data ? *args.initial.at(b, t + args.w - 1, c) : T(0);
}

template <typename T>
static T outputAt(const Conv1dArgs<T> &args, int64_t b, int64_t t, int64_t c) {
  using Acc = AccumulatorOf<T>;
  int64_t before = args.w - 1;
  if (args.places.data) {
    int64_t place = *args.places.at(b, t);
    if (place < 0)
      return T(0);
    before = place < before ? place : before;
  }
  Acc sum = args.bias.data ? Acc(*args.bias.at(c)) : Acc(0);
  for (int64_t k = 0; k < args.w; ++k) {
    int64_t back = args.w - 1 - k;
    T row = back <= before ? inputAt(args, b, t - back, c) : T(0);
    sum += Acc(*args.weight.at(c, k)) * Acc(row);
  }
  return T(args.silu ? silu(sum) : sum);
}

template <typename T> const char *conv1d(const Call &call) {
  Conv1dArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t t = 0; t < args.l; ++t)
      for (int64_t c = 0; c < args.c; ++c)
        *args.y.at(b, t, c) = outputAt(args, b, t, c);
  return nullptr;
}

template const char *conv1d<float>(const Call &);
template const char *conv1d<double>(const Call &);
template const char *conv1d<BFloat16>(const Call &);

} // namespace cp::kernels::reference
