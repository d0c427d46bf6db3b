//===- reference/RmsNormGrad.cpp - Adjoint of the gated RMS norm ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "reference/Math.h"
#include "reference/Reference.h"

#include <cmath>

namespace cp::kernels::reference {

namespace {
/// One group of channels of one row.
template <typename T> class Group {
public:
  using Acc = AccumulatorOf<T>;

  Group(const RmsNormGradArgs<T> &args, int64_t row, int64_t first,
        int64_t count)
      : args(args), row(row), first(first), count(count) {}

  void run() {
    Acc squares = 0;
    forEach([&](int64_t c) { squares += valueAt(c) * valueAt(c); });
    scale = Acc(1) / std::sqrt(squares / Acc(count) + Acc(args.eps));
    Acc products = 0;
    forEach([&](int64_t c) { products += dNormedAt(c) * valueAt(c) * scale; });
    Acc mean = products / Acc(count);
    forEach([&](int64_t c) { write(c, mean); });
  }

private:
  template <typename Body> void forEach(Body body) const {
    for (int64_t c = first; c < first + count; ++c)
      body(c);
  }
  bool isGatedFirst() const { return args.gate.data && args.gateFirst; }
  bool isGatedLast() const { return args.gate.data && !args.gateFirst; }
  Acc gateAt(int64_t c) const { return *args.gate.at(row, c); }

  /// What is normed.
  Acc valueAt(int64_t c) const {
    Acc x = *args.x.at(row, c);
    return isGatedFirst() ? x * silu(gateAt(c)) : x;
  }
  /// The cotangent of the norm's result, before it is gated.
  Acc dWeightedAt(int64_t c) const {
    Acc dy = *args.dy.at(row, c);
    return isGatedLast() ? dy * silu(gateAt(c)) : dy;
  }
  Acc weightAt(int64_t c) const {
    return args.weight.data ? Acc(*args.weight.at(c)) : Acc(1);
  }
  Acc dNormedAt(int64_t c) const { return dWeightedAt(c) * weightAt(c); }

  void write(int64_t c, Acc mean) const {
    Acc normed = valueAt(c) * scale;
    *args.dweight.at(c) += dWeightedAt(c) * normed;
    Acc dValue = scale * (dNormedAt(c) - normed * mean);
    if (isGatedFirst()) {
      Acc x = *args.x.at(row, c);
      *args.dgate.at(row, c) = T(dValue * x * siluSlope(gateAt(c)));
      dValue *= silu(gateAt(c));
    }
    if (isGatedLast()) {
      Acc dy = *args.dy.at(row, c);
      *args.dgate.at(row, c) =
          T(dy * normed * weightAt(c) * siluSlope(gateAt(c)));
    }
    *args.dx.at(row, c) = T(dValue);
  }

  const RmsNormGradArgs<T> &args;
  int64_t row, first, count;
  Acc scale = 0;
};
} // namespace

template <typename T> const char *rmsNormGrad(const Call &call) {
  RmsNormGradArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t c = 0; c < args.c; ++c)
    *args.dweight.at(c) = AccumulatorOf<T>(0);
  int64_t count = args.c / args.groups;
  for (int64_t row = 0; row < args.rows; ++row)
    for (int64_t group = 0; group < args.groups; ++group)
      Group<T>(args, row, group * count, count).run();
  return nullptr;
}

template const char *rmsNormGrad<float>(const Call &);
template const char *rmsNormGrad<double>(const Call &);
template const char *rmsNormGrad<BFloat16>(const Call &);

} // namespace cp::kernels::reference
