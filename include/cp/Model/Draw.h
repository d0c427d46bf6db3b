//===- Draw.h - Tensors that no file gives ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_DRAW_H
#define CP_MODEL_DRAW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace cp {

/// How a tensor is drawn that no file gives. Fields that a kind does not name
/// are unused.
struct InitSpec {
  enum class Kind {
    Zeros,
    Ones,
    /// Mean 0, standard deviation `scale`.
    Normal,
    /// From [-scale, scale).
    Uniform,
    /// log(1), log(2), ... over the elements in C order.
    LogArange,
    /// log of a uniform draw from [low, high).
    LogUniform,
    /// Inverse softplus of max(floor, a log-uniform draw from [low, high)).
    DtBias,
    /// Integers from [0, count).
    Ids,
    /// Where the documents of a row of `count` tokens end, some of them empty:
    /// ascending integers, the first 0 and the last `count`.
    Documents,
    /// What the IR says of it is none of these.
    Unknown
  };
  Kind kind = Kind::Zeros;
  double scale = 0;
  double low = 0;
  double high = 0;
  double floor = 0;
  int64_t count = 0;

  static InitSpec zeros() { return {Kind::Zeros, 0, 0, 0, 0, 0}; }
  static InitSpec ones() { return {Kind::Ones, 0, 0, 0, 0, 0}; }
  static InitSpec normal(double std) { return {Kind::Normal, std, 0, 0, 0, 0}; }
  static InitSpec uniform(double bound) {
    return {Kind::Uniform, bound, 0, 0, 0, 0};
  }
  static InitSpec logArange() { return {Kind::LogArange, 0, 0, 0, 0, 0}; }
  static InitSpec logUniform(double low, double high) {
    return {Kind::LogUniform, 0, low, high, 0, 0};
  }
  static InitSpec dtBias(double min, double max, double floor) {
    return {Kind::DtBias, 0, min, max, floor, 0};
  }
  static InitSpec ids(int64_t below) { return {Kind::Ids, 0, 0, 0, 0, below}; }
  static InitSpec documents(int64_t length) {
    return {Kind::Documents, 0, 0, 0, 0, length};
  }
};

/// Whether drawWeightSlice draws tensors of this kind.
bool drawsFractions(const InitSpec &init);

/// Elements [first, first + out.size()) of the parameter, in C order, of a kind
/// that draws numbers with fractions. An element depends on the spec, the name,
/// the seed and its own number only, so neither the order of the parameters nor
/// a cut of them over ranks or threads changes it. (Bitwise where the C
/// library's log, sin, cos and expm1 are the same.)
void drawWeightSlice(const InitSpec &init, llvm::StringRef name, uint64_t seed,
                     uint64_t first, llvm::MutableArrayRef<double> out);
/// The same, rounded to float.
void drawWeightSlice(const InitSpec &init, llvm::StringRef name, uint64_t seed,
                     uint64_t first, llvm::MutableArrayRef<float> out);

/// The whole parameter in C order. Precondition: tensorBytes(shape, F64)
/// exists.
std::vector<double> drawWeight(const InitSpec &init,
                               llvm::ArrayRef<int64_t> shape,
                               llvm::StringRef name, uint64_t seed);

} // namespace cp

#endif // CP_MODEL_DRAW_H
