//===- fast/Vec.h - Vectors of one instruction set --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The fast kernels are templates over `Isa`, a tag that each of Avx512.cpp,
// Avx512Bf16.cpp, Avx2.cpp and Portable.cpp defines in an anonymous namespace:
//
//   bytes   size of a vector register
//   rows    rows of the register tile of a matrix product
//   streams whether there is stream(to, vector): a store past the caches, to an
//           address that is a multiple of the vector's bytes
//   fuses   whether a product goes into a sum unrounded
//   inverse(vector) 1 / vector within a unit in the last place, where both are
//           normal numbers
//
// What multiplies pairs of bf16 has more: see PairedEntries.h.
//
// Those files are compiled for different processors. The local tag gives every
// instance internal linkage; a function shared by name could be compiled for
// one processor and linked in for all.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_VEC_H
#define CP_KERNELS_CPU_FAST_VEC_H

#include "CeilDiv.h"
#include "Elements.h"
#include "fast/Pair.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cp::kernels::fast {

/// The integers as wide as a floating-point type, and half as wide.
template <typename T> struct IntegerOf;
template <> struct IntegerOf<float> {
  using Type = int32_t;
  using Word = uint32_t;
  using Half = uint16_t;
};
template <> struct IntegerOf<double> {
  using Type = int64_t;
  using Word = uint64_t;
  using Half = uint32_t;
};

template <typename Isa, typename T> struct Vec {
  static constexpr int lanes = Isa::bytes / int(sizeof(T));
  using Int = typename IntegerOf<T>::Type;
  typedef T Type __attribute__((vector_size(Isa::bytes)));
  typedef Int IntType __attribute__((vector_size(Isa::bytes)));
  typedef typename IntegerOf<T>::Word Words
      __attribute__((vector_size(Isa::bytes)));
  typedef typename IntegerOf<T>::Half Halves
      __attribute__((vector_size(Isa::bytes / 2)));

  static Type load(const T *from) {
    Type value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(T *to, Type value) {
    __builtin_memcpy(to, &value, sizeof value);
  }
  /// The same with narrower elements in memory; for vectors of floats, as
  /// BFloat16 does it.
  static Type load(const BFloat16 *from) {
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    return reinterpret_cast<Type>(__builtin_convertvector(halves, Words) << 16);
  }
  static void store(BFloat16 *to, Type value) {
    Halves halves = narrow(value);
    __builtin_memcpy(to, &halves, sizeof halves);
  }
  static Halves narrow(Type value) {
    Words wide = reinterpret_cast<Words>(value);
    Words rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    // A NaN is not equal to itself. NOLINTNEXTLINE(misc-redundant-expression)
    rounded = value == value ? rounded : wide >> 16 | 0x40;
    return __builtin_convertvector(rounded, Halves);
  }
  /// As store; when `Streamed`, past the caches to an address that is a
  /// multiple of the bytes written.
  template <bool Streamed, typename To> static void put(To *to, Type value) {
    if constexpr (!Streamed || !Isa::streams)
      store(to, value);
    else if constexpr (std::is_same_v<To, BFloat16>)
      Isa::stream(to, narrow(value));
    else
      Isa::stream(to, value);
  }
  /// Other threads see streamed stores that happened before.
  static void finishStreams() {
    if constexpr (Isa::streams)
      Isa::finishStreams();
  }
  /// Pairs travel as the bits of a float.
  static Type load(const Pair *from) {
    Type value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(Pair *to, Type value) {
    __builtin_memcpy(to, &value, sizeof value);
  }
  /// The first `count` lanes; the others are 0, or stay as they are in memory.
  static Type loadPart(const T *from, int64_t count) {
    Type value = {};
    __builtin_memcpy(&value, from, size_t(count) * sizeof(T));
    return value;
  }
  static void storePart(T *to, Type value, int64_t count) {
    __builtin_memcpy(to, &value, size_t(count) * sizeof(T));
  }
  static Type loadPart(const BFloat16 *from, int64_t count) {
    BFloat16 whole[lanes];
    __builtin_memset(whole, 0, sizeof whole);
    __builtin_memcpy(whole, from, size_t(count) * sizeof(BFloat16));
    return load(whole);
  }
  static void storePart(BFloat16 *to, Type value, int64_t count) {
    BFloat16 whole[lanes];
    store(whole, value);
    __builtin_memcpy(to, whole, size_t(count) * sizeof(BFloat16));
  }
  static Type splat(T value) { return Type{} + value; }
  static T sum(Type value) {
    T result = 0;
    for (int i = 0; i < lanes; ++i)
      result += value[i];
    return result;
  }

  /// Of a word of pairs, the first or the second of each.
  static Type even(Type pairs) {
    return reinterpret_cast<Type>(reinterpret_cast<Words>(pairs) << 16);
  }
  static Type odd(Type pairs) {
    return reinterpret_cast<Type>(reinterpret_cast<Words>(pairs) & ~0xffffu);
  }

  /// Vectors whose operations go side by side: enough for those of one to fill
  /// what another waits for, few enough for the registers.
  static constexpr int together = Isa::bytes == 64 ? 4 : 2;
  /// Calls fn(0), ..., fn(N - 1) without a loop, so that arrays that `fn` works
  /// on stay in registers.
  template <int N, typename Fn> [[gnu::always_inline]] static void each(Fn fn) {
    each(fn, std::make_integer_sequence<int, N>());
  }

  /// a0 b0 a1 b1 ... from the lower (Half = 0) or upper halves of a and b.
  template <int Half> static Type interleave(Type a, Type b) {
    return interleave<Half>(a, b, std::make_integer_sequence<int, lanes>());
  }

private:
  template <typename Fn, int... I>
  [[gnu::always_inline]] static void each(Fn fn,
                                          std::integer_sequence<int, I...>) {
    (fn(I), ...);
  }
  template <int Half, int... I>
  static Type interleave(Type a, Type b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(
        a, b, (I / 2 + Half * lanes / 2 + I % 2 * lanes)...);
  }
};

/// Results of so many bytes are not in a cache any more when they are read.
constexpr int64_t leastStreamed = int64_t(1) << 24;

/// The multiple of `step` at or above `value`.
static inline int64_t roundUp(int64_t value, int64_t step) {
  return ceilDiv(value, step) * step;
}
static constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_VEC_H
