//===- fast/VecMath.h - exp and its relatives on vectors --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_VECMATH_H
#define CP_KERNELS_CPU_FAST_VECMATH_H

#include "fast/Vec.h"

namespace cp::kernels::fast {

/// Constants of exp: x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 is split
/// so that n * ln2High is exact; the series of exp(r) to the power `degree`,
/// whose rest is below half a unit in the last place.
template <typename T> struct ExpConstants;
template <> struct ExpConstants<float> {
  static constexpr float log2e = 1.44269504088896341f;
  static constexpr float ln2High = 0.693359375f, ln2Low = -2.12194440e-4f;
  /// Adding it rounds to an integer that stands in the low mantissa bits.
  static constexpr float rounder = 12582912.0f;
  static constexpr float overflow = 88.7228394f, underflow = -103.972084f;
  /// The logarithm of the smallest normal number.
  static constexpr float normal = -87.3365448f;
  static constexpr int degree = 7, mantissaBits = 23, bias = 127;
  /// Where products go into sums unrounded, this alone is off by 2 units at
  /// the ends of the range and by little in its middle.
  static constexpr float ln2 = 0.693147180559945309f;
  /// Of all polynomials with these first two terms the nearest one to exp(r),
  /// relative to that: it is off by 2^-28.
  static constexpr int seriesDegree = 6;
  static constexpr float series[] = {1,
                                     1,
                                     0.49999994f,
                                     0.166665211f,
                                     0.041668389f,
                                     0.00836872403f,
                                     0.00138145848f};
  /// Terms of the series of atanh that log1p sums.
  static constexpr int atanhTerms = 8;
};
template <> struct ExpConstants<double> {
  static constexpr double log2e = 1.4426950408889634074;
  static constexpr double ln2High = 6.93145751953125e-1;
  static constexpr double ln2Low = 1.42860682030941723212e-6;
  static constexpr double rounder = 6755399441055744.0;
  static constexpr double overflow = 709.782712893384, underflow = -745.2;
  static constexpr double normal = -708.396418532264;
  static constexpr int degree = 13, mantissaBits = 52, bias = 1023;
  static constexpr int seriesDegree = 13;
  static constexpr int atanhTerms = 17;
};

template <typename Isa, typename T> struct VecMath {
  using V = Vec<Isa, T>;
  using Type = typename V::Type;
  using IntType = typename V::IntType;
  /// Of infinity and NaN integers run over, which only these may.
  using Words = typename V::Words;
  using K = ExpConstants<T>;

  /// exp(x) within 2 units in the last place; infinity above the range, 0 below
  /// it, NaN for NaN.
  static Type exp(Type x) {
    IntType power;
    Type sum = reducedExp(x, power);
    // Two factors: a single 2^n would leave the exponent's range at both ends.
    IntType half = power >> 1;
    Type result = sum * powerOfTwo(half) * powerOfTwo(power - half);
    result = x > K::overflow ? V::splat(T(__builtin_inf())) : result;
    return x < K::underflow ? Type{} : result;
  }

  /// exp(x) for x <= 0 as above, but 0 where it is smaller than all normal
  /// numbers; NaN for NaN.
  static Type expNegative(Type x) {
    IntType power;
    Type sum = reducedExp(x, power);
    return x < K::normal ? Type{} : sum * powerOfTwo(power);
  }

  /// 2^x for x <= 0 within 2 units in the last place; 0 where it is smaller
  /// than all normal numbers; NaN for NaN.
  static Type exp2Negative(Type x) {
    Type shifted = x + K::rounder;
    Type r = x - (shifted - K::rounder);
    Type sum = V::splat(exp2Term(K::degree));
    for (int i = K::degree - 1; i >= 0; --i)
      sum = sum * r + exp2Term(i);
    // The integer stands in the low bits of `shifted`; all else falls off.
    IntType power = reinterpret_cast<IntType>(shifted);
    return x < T(1 - K::bias) ? Type{} : sum * powerOfTwo(power);
  }

  /// x / (1 + exp(-x)); 0 for x < -86.3 (f32) or -707.4 (f64), where it comes
  /// near the smallest normal numbers.
  static Type silu(Type x) {
    Type all[1] = {x};
    silu(all);
    return all[0];
  }

  /// The same of each, with the same bits. They go side by side: each alone
  /// would wait for itself most of the time.
  template <int N> [[gnu::always_inline]] static void silu(Type (&x)[N]) {
    Type power[N];
    clampedExpOfMinus(x, power);
    V::template each<N>([&](int v) {
      Type result = x[v] / (T(1) + power[v]);
      x[v] = x[v] < -siluLimit ? Type{} : result;
    });
  }

  /// Each x becomes the derivative of silu there, and `silu` silu of it; 0
  /// where that is.
  template <int N>
  [[gnu::always_inline]] static void siluSlope(Type (&x)[N], Type (&silu)[N]) {
    Type power[N];
    clampedExpOfMinus(x, power);
    V::template each<N>([&](int v) __attribute__((always_inline)) {
      auto isNone = x[v] < -siluLimit;
      Type logistic = isNone ? Type{} : Isa::inverse(T(1) + power[v]);
      silu[v] = isNone ? Type{} : x[v] * logistic;
      // Where x is large, 1 - logistic would lose what is small beside 1.
      // Below, what rounding has added to logistic it takes away again.
      Type other = x[v] > cancelling ? power[v] * logistic : T(1) - logistic;
      // What is left of a large x is 0, but not of infinity.
      Type clamped = x[v] > siluLimit ? V::splat(siluLimit) : x[v];
      Type rest = isNone ? Type{} : clamped * logistic * other;
      x[v] = logistic + rest;
    });
  }

  /// log(1 + exp(x)) = max(x, 0) + log1p(u), u = exp(-|x|) in (0, 1], with
  /// log1p(u) = 2 atanh(u / (2 + u)), whose argument is at most 1/3. Nothing
  /// cancels, so the relative error is a few units also for very negative x.
  static Type softplus(Type x) {
    Type u = exp(x < T(0) ? x : -x);
    Type s = u / (T(2) + u);
    Type square = s * s;
    Type sum = V::splat(T(1) / T(2 * K::atanhTerms + 1));
    for (int i = K::atanhTerms - 1; i >= 0; --i)
      sum = sum * square + T(1) / T(2 * i + 1);
    return (x > T(0) ? x : Type{}) + T(2) * s * sum;
  }

private:
  /// -x of what silu is 0 for: beyond it exp(-x) is next to the largest
  /// numbers.
  static constexpr T siluLimit = -1 - K::normal;
  /// Up to here a relative error e of l = 1 / (1 + exp(-x)) is e (1 - x (2l -
  /// 1)) in l + x l (1 - l), and so smaller than the e (1 + 2x (1 - l)) that it
  /// is where exp(-x) l stands for 1 - l.
  static constexpr T cancelling = T(2.5);

  /// exp(-x) where -siluLimit <= x; no more than small above siluLimit.
  template <int N>
  [[gnu::always_inline]] static void clampedExpOfMinus(const Type (&x)[N],
                                                       Type (&power)[N]) {
    V::template each<N>([&](int v) {
      power[v] = x[v] > siluLimit ? V::splat(siluLimit) : x[v];
    });
    expOfMinus(power);
  }

  /// Each x becomes exp(-x), which is a normal number and not next to the
  /// largest ones.
  template <int N> [[gnu::always_inline]] static void expOfMinus(Type (&x)[N]) {
    Type shifted[N], rest[N];
    V::template each<N>([&](int v) {
      shifted[v] = K::rounder - x[v] * K::log2e;
      Type n = shifted[v] - K::rounder;
      if constexpr (Isa::fuses && std::is_same_v<T, float>)
        rest[v] = -x[v] - n * K::ln2;
      else
        rest[v] = (-x[v] - n * K::ln2High) - n * K::ln2Low;
      x[v] = V::splat(expTerm(K::seriesDegree));
    });
    for (int i = K::seriesDegree - 1; i >= 0; --i) {
      // First: a product and a sum with a loop between them are not fused.
      T term = expTerm(i);
      V::template each<N>([&](int v) { x[v] = x[v] * rest[v] + term; });
    }
    // The integer in the low bits goes to the exponent, all else falls off.
    V::template each<N>([&](int v) {
      x[v] = reinterpret_cast<Type>(
          reinterpret_cast<Words>(x[v]) +
          (reinterpret_cast<Words>(shifted[v]) << K::mantissaBits));
    });
  }

  /// exp(x) = result * 2^power.
  static Type reducedExp(Type x, IntType &power) {
    Type shifted = x * K::log2e + K::rounder;
    power = reinterpret_cast<IntType>(
        reinterpret_cast<Words>(shifted) -
        reinterpret_cast<Words>(V::splat(K::rounder)));
    Type n = shifted - K::rounder;
    Type r = (x - n * K::ln2High) - n * K::ln2Low;
    Type sum = V::splat(inverseFactorial(K::degree));
    for (int i = K::degree - 1; i >= 0; --i)
      sum = sum * r + inverseFactorial(i);
    return sum;
  }

  static constexpr T inverseFactorial(int n) {
    double result = 1;
    for (int i = 2; i <= n; ++i)
      result /= i;
    return T(result);
  }
  /// Of the polynomial of exp(r) that expOfMinus sums.
  static constexpr T expTerm(int n) {
    if constexpr (std::is_same_v<T, float>)
      return K::series[n];
    else
      return inverseFactorial(n);
  }
  /// Of the series of 2^x.
  static constexpr T exp2Term(int n) {
    double result = 1;
    for (int i = 1; i <= n; ++i)
      result *= 0.69314718055994530942 / i;
    return T(result);
  }
  static Type powerOfTwo(IntType n) {
    return reinterpret_cast<Type>((reinterpret_cast<Words>(n) + K::bias)
                                  << K::mantissaBits);
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_VECMATH_H
