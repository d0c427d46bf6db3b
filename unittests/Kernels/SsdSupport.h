//===- SsdSupport.h - Random scans and their quadratic form -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_SSDSUPPORT_H
#define CP_UNITTESTS_KERNELS_SSDSUPPORT_H

#include "Documents.h"

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
  /// Whether what computes rounds factors; see `allowFor`.
  bool roundsFactors = false;
  /// Without any, all is one sequence.
  Batch documents;
  /// Results of `run`.
  Tensor<T> y, finalState;

  SsdProblem(const SsdShape &shape, Fading fading, Random &random);
  std::string run(KernelFn kernel) { return run(kernel, y.buffer()); }
  /// The same with another place for y.
  std::string run(KernelFn kernel, Buffer y);

  /// Makes the comparisons below those that suit what `implementation` does.
  /// Where it rounds factors, each of these may be off by half a unit in the
  /// last of bf16's eight bits. A term of a state has one, the decayed input; a
  /// term of y has one, its weight, or two: the decayed input and, tiles later,
  /// the state it went into.
  void allowFor(const Implementation &implementation) {
    roundsFactors = std::is_same_v<T, BFloat16> && implementation.roundsFactors;
  }
  static constexpr int roundingsOfY = 2, roundingsOfState = 1;
  template <typename E>
  bool isClose(E got, const Expected &expected, int roundings) const {
    Expected wider = expected;
    if (roundsFactors)
      wider.magnitude *= 1 + roundings / 256.0 / tolerance<E>();
    return test::isClose(got, wider);
  }
  /// For a state in T, or in what sums are kept in.
  template <typename E>
  bool isCloseState(E got, int64_t b, int64_t h, int64_t i, int64_t j) {
    return isClose(got, expectedState(b, h, i, j), roundingsOfState);
  }

  /// What the call means, in double precision and without any state:
  ///   y_t = sum_{s <= t} exp(sum_{s < r <= t} delta_r A) (C_t . B_s) delta_s
  ///   x_s
  ///         + exp(sum_{r <= t} delta_r A) S_0 C_t + D x_t,
  /// with documents for s from t's own beginning on, and without S_0 if that is
  /// in the row; one element at a time. `prepare` fills the tables they need.
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
  /// decays that were summed, in double, from the start of a tile or chunk. To
  /// narrower types that is nothing.
  double slack(int64_t b, int64_t end, int64_t h) const;

  std::vector<double> deltas;
  std::vector<long double> sums;
  /// C_t . B_s and the sum of its magnitudes, per [b, g, t, s].
  std::vector<Expected> dots;
};

/// Compares y and final_state with the quadratic form, element by element; and
/// all of y at once where factors are rounded, for what that may do to one
/// element it does not do to all. A rounding's mean square over a binade is
/// (2^-8)^2 / 6, so the three independent ones of a term, the result's own
/// included, move y by (1 / 2)^(1 / 2) 2^-8 in the mean: less than 2^-8.
template <typename T> void expectMatches(SsdProblem<T> &problem);

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_SSDSUPPORT_H
