//===- reference/Conv1dGrad.cpp - Adjoint of the convolution --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Math.h"
#include "reference/Reference.h"

#include <algorithm>

namespace cp::kernels::reference {

namespace {
/// One channel of one element of the batch. `rows` are the cotangents of the
/// w - 1 rows before the first and of the l rows, in the sums' type.
template <typename T> class Channel {
public:
  using Acc = AccumulatorOf<T>;

  Channel(const Conv1dGradArgs<T> &args, int64_t c, Acc *rows)
      : args(args), c(c), before(args.w - 1), rows(rows) {}

  void run(int64_t b) {
    std::fill(rows, rows + before + args.l, Acc(0));
    for (int64_t t = 0; t < args.l; ++t)
      pass(b, t);
    for (int64_t t = 0; t < before; ++t)
      *args.dinitial.at(b, t, c) = T(rows[t]);
    for (int64_t t = 0; t < args.l; ++t)
      *args.dx.at(b, t, c) = T(rows[before + t]);
  }

private:
  /// Row t of the input, where t >= -(w - 1).
  Acc inputAt(int64_t b, int64_t t) const {
    if (t >= 0)
      return *args.x.at(b, t, c);
    return args.initial.data ? Acc(*args.initial.at(b, before + t, c)) : Acc(0);
  }

  /// The cotangent of row t of the result on its way to all it was made of.
  void pass(int64_t b, int64_t t) {
    int64_t reach = before;
    if (args.places.data) {
      int64_t place = *args.places.at(b, t);
      if (place < 0)
        return;
      reach = std::min(place, before);
    }
    Acc ds = *args.dy.at(b, t, c);
    if (args.silu)
      ds *= siluSlope(sumAt(b, t, reach));
    *args.dbias.at(c) += ds;
    for (int64_t back = 0; back <= reach; ++back) {
      int64_t k = before - back;
      rows[before + t - back] += Acc(*args.weight.at(c, k)) * ds;
      *args.dweight.at(c, k) += ds * inputAt(b, t - back);
    }
  }

  Acc sumAt(int64_t b, int64_t t, int64_t reach) const {
    Acc sum = args.bias.data ? Acc(*args.bias.at(c)) : Acc(0);
    for (int64_t back = reach; back >= 0; --back)
      sum += Acc(*args.weight.at(c, before - back)) * inputAt(b, t - back);
    return sum;
  }

  const Conv1dGradArgs<T> &args;
  int64_t c, before;
  Acc *rows;
};
} // namespace

template <typename T> const char *conv1dGrad(const Call &call) {
  using Acc = AccumulatorOf<T>;
  Conv1dGradArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory = scratch(Slot::Kernel, carved<Acc>(args.w - 1 + args.l));
  if (!memory)
    return outOfMemory("conv1d_grad");
  for (int64_t c = 0; c < args.c; ++c) {
    *args.dbias.at(c) = Acc(0);
    for (int64_t k = 0; k < args.w; ++k)
      *args.dweight.at(c, k) = Acc(0);
    Channel<T> channel(args, c, static_cast<Acc *>(memory));
    for (int64_t b = 0; b < args.b; ++b)
      channel.run(b);
  }
  return nullptr;
}

template const char *conv1dGrad<float>(const Call &);
template const char *conv1dGrad<double>(const Call &);
template const char *conv1dGrad<BFloat16>(const Call &);

} // namespace cp::kernels::reference
