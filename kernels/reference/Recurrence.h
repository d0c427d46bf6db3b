//===- reference/Recurrence.h - One step of the scan ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_REFERENCE_RECURRENCE_H
#define CP_KERNELS_REFERENCE_RECURRENCE_H

#include "Decay.h"
#include "OpArguments.h"
#include "reference/Math.h"

namespace cp::kernels::reference {

/// delta = clamp(softplus(dt + dt_bias), dt_min, dt_max).
template <typename T>
AccumulatorOf<T> stepSize(const StepArgs<T> &step, int64_t b, int64_t t,
                          int64_t h) {
  using Acc = AccumulatorOf<T>;
  Acc dt = *step.dt.at(b, t, h);
  if (step.bias.data)
    dt += Acc(*step.bias.at(h));
  Acc delta = softplus(dt);
  if (delta < Acc(step.dtMin))
    return Acc(step.dtMin);
  return delta > Acc(step.dtMax) ? Acc(step.dtMax) : delta;
}

/// The derivative of stepSize by dt: that of softplus, and 0 where it is
/// clamped.
template <typename T>
double stepSlope(const StepArgs<T> &step, int64_t b, int64_t t, int64_t h) {
  using Acc = AccumulatorOf<T>;
  Acc dt = *step.dt.at(b, t, h);
  if (step.bias.data)
    dt += Acc(*step.bias.at(h));
  Acc delta = softplus(dt);
  if (delta < Acc(step.dtMin) || delta > Acc(step.dtMax))
    return 0;
  return 1 / (1 + std::exp(-double(dt)));
}

/// What a step of size `delta` leaves of a state. In double: a rounding of the
/// exponent would grow with it.
template <typename Acc> double decayOf(double rate, Acc delta) {
  return std::exp(rate * double(delta));
}

/// The state of one head, kept as [n][p] so that loops over p lie side by side.
template <typename T> class HeadState {
public:
  using Acc = AccumulatorOf<T>;

  /// `memory` holds elements() numbers and stays the caller's.
  HeadState(Acc *memory, const SsdSizes &sizes, int64_t group)
      : p(sizes.p), n(sizes.n), group(group), state(memory),
        sums(memory + sizes.n * sizes.p) {}
  static int64_t elements(const SsdSizes &sizes) {
    return (sizes.n + 1) * sizes.p;
  }

  void clear() {
    for (int64_t i = 0; i < n * p; ++i)
      state[i] = Acc(0);
  }
  Acc &at(int64_t i, int64_t j) { return state[j * p + i]; }

  /// What token t finds: nothing where it is the first of a sequence. False
  /// where there is no token.
  bool enter(const PlacesView &places, int64_t b, int64_t t) {
    int64_t place = places.data ? *places.at(b, t) : 1;
    if (place == 0)
      clear();
    return place >= 0;
  }

  /// S = decay S + (delta x) B^T.
  void update(Acc decay, Acc delta, const T *x, int64_t xStride, const T *B,
              int64_t bStride) {
    for (int64_t i = 0; i < p; ++i)
      sums[i] = delta * Acc(x[i * xStride]);
    for (int64_t j = 0; j < n; ++j) {
      Acc bValue = B[j * bStride];
      for (int64_t i = 0; i < p; ++i)
        state[j * p + i] = decay * state[j * p + i] + sums[i] * bValue;
    }
  }

  /// y = S C + D x for token t.
  template <typename Args>
  void read(const Args &args, int64_t b, int64_t t, int64_t h) {
    for (int64_t i = 0; i < p; ++i)
      sums[i] = Acc(0);
    for (int64_t j = 0; j < n; ++j) {
      Acc cValue = *args.C.at(b, t, group, j);
      for (int64_t i = 0; i < p; ++i)
        sums[i] += state[j * p + i] * cValue;
    }
    for (int64_t i = 0; i < p; ++i) {
      Acc y = sums[i];
      if (args.D.data)
        y += Acc(*args.D.at(h, i)) * Acc(*args.x.at(b, t, h, i));
      *args.y.at(b, t, h, i) = T(y);
    }
  }

  /// y = 0, of a row without a token.
  template <typename Args>
  void skip(const Args &args, int64_t b, int64_t t, int64_t h) const {
    for (int64_t i = 0; i < p; ++i)
      *args.y.at(b, t, h, i) = T(0);
  }

  /// Writes the state to out[i, j].
  template <typename Out> void store(const View<Out, 2> &out) {
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < n; ++j)
        *out.at(i, j) = Out(at(i, j));
  }

private:
  int64_t p, n, group;
  Acc *state;
  Acc *sums;
};

/// The [p, n] part of `whole` at the given leading indices.
template <typename T, int Rank, typename... Index>
View<T, 2> lastTwo(const View<T, Rank> &whole, Index... leading) {
  static_assert(sizeof...(Index) == Rank - 2);
  return {whole.at(leading...),
          {whole.strides[Rank - 2], whole.strides[Rank - 1]}};
}

} // namespace cp::kernels::reference

#endif // CP_KERNELS_REFERENCE_RECURRENCE_H
