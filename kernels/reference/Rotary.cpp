//===- reference/Rotary.cpp - Rotation of queries and keys ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An angle is a position times a frequency, and of a late position a float
// keeps few digits behind the point: angles, sines and cosines are doubles for
// every type. They are worked out once a position, for all heads.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Reference.h"

#include <cmath>

namespace cp::kernels::reference {

namespace {

/// The rotation at one position: for each pair of channels.
template <typename Acc> struct Rotation {
  double *frequencies = nullptr;
  Acc *cosines = nullptr, *sines = nullptr;

  bool allocate(int64_t pairs) {
    void *memory =
        scratch(Slot::Kernel, carved<double>(pairs) + 2 * carved<Acc>(pairs));
    if (!memory)
      return false;
    Carver carver(memory);
    frequencies = carver.take<double>(pairs);
    cosines = carver.take<Acc>(pairs);
    sines = carver.take<Acc>(pairs);
    return true;
  }

  void moveTo(int64_t position, int64_t pairs) {
    for (int64_t i = 0; i < pairs; ++i) {
      double angle = double(position) * frequencies[i];
      cosines[i] = Acc(std::cos(angle));
      sines[i] = Acc(std::sin(angle));
    }
  }
};

} // namespace

/// One head at one position. A pair is read before it is written, so y may be
/// x.
template <typename T>
static void rotateHead(const RotaryArgs<T> &args,
                       const Rotation<AccumulatorOf<T>> &rotation, const T *x,
                       T *y) {
  using Acc = AccumulatorOf<T>;
  int64_t from = args.x.strides[3], to = args.y.strides[3];
  int64_t pairs = args.dims / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    Acc first = x[i * from], second = x[(i + pairs) * from];
    Acc cosine = rotation.cosines[i], sine = rotation.sines[i];
    y[i * to] = T(first * cosine - second * sine);
    y[(i + pairs) * to] = T(second * cosine + first * sine);
  }
  for (int64_t i = args.dims; i < args.p; ++i)
    y[i * to] = x[i * from];
}

template <typename T> const char *rotary(const Call &call) {
  RotaryArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  int64_t pairs = args.dims / 2;
  Rotation<AccumulatorOf<T>> rotation;
  if (!rotation.allocate(pairs))
    return outOfMemory("rotary");
  for (int64_t i = 0; i < pairs; ++i)
    rotation.frequencies[i] =
        std::pow(args.theta, -2.0 * double(i) / double(args.dims));
  // Where all elements of the batch have the same, it is worked out once.
  bool isShared = args.positions.strides[0] == 0;
  for (int64_t row = 0; row < args.l; ++row)
    for (int64_t b = 0; b < args.b; ++b) {
      if (b == 0 || !isShared)
        rotation.moveTo(*args.positions.at(b, row), pairs);
      for (int64_t h = 0; h < args.h; ++h)
        rotateHead(args, rotation, args.x.at(b, row, h), args.y.at(b, row, h));
    }
  return nullptr;
}

template const char *rotary<float>(const Call &);
template const char *rotary<double>(const Call &);
template const char *rotary<BFloat16>(const Call &);

} // namespace cp::kernels::reference
