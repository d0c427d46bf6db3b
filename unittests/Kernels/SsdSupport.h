//===- SsdSupport.h - Random scans and their quadratic form -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_SSDSUPPORT_H
#define CP_UNITTESTS_KERNELS_SSDSUPPORT_H

#include "Support.h"

namespace cp::kernels::test {

struct SsdShape {
  int64_t b, l, h, p, g, n, chunk;
};

/// One to three groups, chunks that need not divide l, lengths around the
/// sizes at which kernels change their ways.
SsdShape pickShape(Random &random);

/// How fast states fade.
enum class Fading { Slow, Mixed, Fast };

template <typename T> struct SsdProblem {
  SsdShape s;
  double dtMax, dtMin;
  bool hasD, hasBias, hasInitial;
  Tensor<T> x, dt, aLog, B, C, D, bias, initial;
  /// Results of `run`.
  Tensor<T> y, finalState;

  SsdProblem(const SsdShape &shape, Fading fading, Random &random);
  std::string run(KernelFn kernel);

  /// What the call means, in double precision and without any state:
  ///   y_t = sum_{s <= t} exp(sum_{s < r <= t} delta_r A) (C_t . B_s) delta_s
  ///   x_s
  ///         + exp(sum_{r <= t} delta_r A) S_0 C_t + D x_t,
  /// one element at a time. `prepare` fills the tables they need.
  void prepare();
  Expected expectedY(int64_t b, int64_t t, int64_t h, int64_t i);
  Expected expectedState(int64_t b, int64_t h, int64_t i, int64_t j);

  double delta(int64_t b, int64_t t, int64_t h) const {
    return deltas[size_t((b * s.l + t) * s.h + h)];
  }
  /// Sum of delta A over tokens first <= r < end.
  double logDecay(int64_t b, int64_t first, int64_t end, int64_t h) const {
    return double(sums[size_t((b * (s.l + 1) + end) * s.h + h)] -
                  sums[size_t((b * (s.l + 1) + first) * s.h + h)]);
  }

private:
  /// How much rounding of the exponent adds: kernels take differences of log
  /// decays that were summed, in T, from the start of a tile or chunk.
  double slack(int64_t b, int64_t end, int64_t h) const;

  std::vector<double> deltas;
  std::vector<long double> sums;
  /// C_t . B_s and the sum of its magnitudes, per [b, g, t, s].
  std::vector<Expected> dots;
};

/// Compares y and final_state with the quadratic form.
template <typename T> void expectMatches(SsdProblem<T> &problem);

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_SSDSUPPORT_H
