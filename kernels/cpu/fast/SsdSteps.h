//===- fast/SsdSteps.h - Step sizes and log decays --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDSTEPS_H
#define CP_KERNELS_CPU_FAST_SSDSTEPS_H

#include "Decay.h"
#include "OpArguments.h"
#include "fast/SsdPack.h"
#include "fast/VecMath.h"

#include <type_traits>

namespace cp::kernels::fast {

/// The steps of one head over one tile, in the type T of sums, whatever that of
/// the arguments. Beyond the last token delta is 0 and the log decay stays as
/// it is.
template <typename Isa, typename T> struct SsdSteps {
  using V = Vec<Isa, T>;
  using M = VecMath<Isa, T>;

  T delta[tileTokens];
  /// Sum of delta A from the tile's first token through each token. Differences
  /// of such sums are exponentiated, and may be far smaller than the sums:
  /// hence the precision.
  double logDecay[tileTokens];

  /// From dt, for `count` tokens from `first`.
  template <typename Storage>
  void compute(const StepArgs<Storage> &step, int64_t b, int64_t first,
               int64_t count, int64_t h) {
    load(step, b, first, count, h, delta);
    for (int64_t t = 0; t < tileTokens; t += V::lanes)
      V::store(delta + t, clamp(step, M::softplus(V::load(delta + t))));
    for (int64_t t = count; t < tileTokens; ++t)
      delta[t] = 0;
    sum(decayRate(double(T(*step.aLog.at(h)))), count);
  }

  /// out[t] = d delta / d dt; 0 where delta is clamped.
  template <typename Storage>
  void slopes(const StepArgs<Storage> &step, int64_t b, int64_t first,
              int64_t count, int64_t h, T *out) const {
    load(step, b, first, count, h, out);
    for (int64_t t = 0; t < tileTokens; t += V::lanes) {
      typename V::Type dt = V::load(out + t), size = M::softplus(dt);
      typename V::Type slope = T(1) / (T(1) + M::exp(-dt)), none = {};
      slope = size < T(step.dtMin) ? none : slope;
      V::store(out + t, size > T(step.dtMax) ? none : slope);
    }
  }

  /// From what ssd_states left.
  template <typename Storage>
  void load(const SsdScanArgs<Storage> &args, int64_t b, int64_t first,
            int64_t count, int64_t h) {
    for (int64_t t = 0; t < tileTokens; ++t)
      delta[t] = t < count ? *args.delta.at(b, first + t, h) : T(0);
    sum(decayRate(double(T(*args.aLog.at(h)))), count);
  }

  double end() const { return logDecay[tileTokens - 1]; }

  /// out[i] = sign (logDecay[first + i] - from), and 0 where rounding has
  /// turned it above 0; NaN stays.
  void notAbove0(int64_t first, int64_t count, double from, int sign,
                 T *out) const {
    for (int64_t i = 0; i < count; ++i) {
      double difference = sign * (logDecay[first + i] - from);
      out[i] = T(difference > 0 ? 0 : difference);
    }
  }

  /// high[i] + low[i] = logDecay[first + i] - from
  void split(int64_t first, int64_t count, double from, T *high, T *low) const {
    for (int64_t i = 0; i < count; ++i) {
      double difference = logDecay[first + i] - from;
      high[i] = T(difference);
      low[i] = T(difference - double(high[i]));
    }
  }

  /// out[t] = exp(logDecay[end] - logDecay[t]), or exp(logDecay[t]).
  void decaysToEnd(T *out) const { exponentials(end(), -1, out); }
  void decaysFromStart(T *out) const { exponentials(0, 1, out); }

private:
  /// dt with its bias.
  template <typename Storage>
  static void load(const StepArgs<Storage> &step, int64_t b, int64_t first,
                   int64_t count, int64_t h, T *out) {
    T bias = step.bias.data ? T(*step.bias.at(h)) : T(0);
    for (int64_t t = 0; t < tileTokens; ++t)
      out[t] = t < count ? T(*step.dt.at(b, first + t, h)) + bias : T(0);
  }

  /// exp of it, and of all below it, is 0. A step's log decay is not let below,
  /// which changes no product that it is part of, and keeps sums small: what is
  /// small beside them would be lost.
  static constexpr double leastLog = std::is_same_v<T, float> ? -128 : -768;

  static double limited(double logDecay) {
    return logDecay < leastLog ? leastLog : logDecay;
  }

  /// logDecay[t] = rate (delta[0] + ... + delta[t]), in sums of eight that do
  /// not wait for each other; the same from the last of `count` tokens on,
  /// whatever the rate.
  void sum(double rate, int64_t count) {
    constexpr int64_t part = 8;
    for (int64_t first = 0; first < tileTokens; first += part) {
      double total = 0;
      for (int64_t t = first; t < first + part; ++t)
        logDecay[t] = total += t < count ? limited(rate * double(delta[t])) : 0;
    }
    double before = 0;
    for (int64_t first = 0; first < tileTokens; first += part) {
      for (int64_t t = first; t < first + part; ++t)
        logDecay[t] += before;
      before = logDecay[first + part - 1];
    }
  }

  void exponentials(double from, int sign, T *out) const {
    notAbove0(0, tileTokens, from, sign, out);
    for (int64_t t = 0; t < tileTokens; t += V::lanes)
      V::store(out + t, M::exp(V::load(out + t)));
  }

  template <typename Storage>
  static typename V::Type clamp(const StepArgs<Storage> &step,
                                typename V::Type value) {
    typename V::Type low = V::splat(T(step.dtMin));
    typename V::Type high = V::splat(T(step.dtMax));
    value = value < low ? low : value;
    return value > high ? high : value;
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSTEPS_H
