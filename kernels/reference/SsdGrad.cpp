//===- reference/SsdGrad.cpp - Adjoint of the scan as its recurrence ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state in front of each token is needed again, from the last to the first:
// a first pass keeps the one in front of each chunk, and a chunk's are computed
// again when its turn comes (Griewank, "Achieving logarithmic growth of
// temporal and spatial complexity in reverse automatic differentiation", 1992,
// with one level).
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Scratch.h"
#include "reference/Recurrence.h"
#include "reference/Reference.h"

#include <algorithm>

namespace cp::kernels::reference {

namespace {

/// One head of one element of the batch. States are [n][p].
template <typename T> class Head {
public:
  using Acc = AccumulatorOf<T>;

  /// `memory` holds bytes(args); the last two arrays, [l, n] each, stay from
  /// head to head of a group and are those that `dB` and `dC` point to.
  Head(const SsdGradArgs<T> &args, void *memory)
      : args(args), elements(args.n * args.p) {
    Carver carver(memory);
    starts = carver.take<Acc>(args.chunks() * elements);
    befores = carver.take<Acc>((args.chunk + 1) * elements);
    cotangent = carver.take<Acc>(elements);
    inputs = carver.take<Acc>(args.p);
    dB = carver.take<Acc>(args.l * args.n);
    dC = carver.take<Acc>(args.l * args.n);
  }
  static size_t bytes(const SsdGradArgs<T> &args) {
    int64_t elements = args.n * args.p;
    return carved<Acc>(args.chunks() * elements) +
           carved<Acc>((args.chunk + 1) * elements) + carved<Acc>(elements) +
           carved<Acc>(args.p) + 2 * carved<Acc>(args.l * args.n);
  }

  void startGroup() {
    std::fill(dB, dB + args.l * args.n, Acc(0));
    std::fill(dC, dC + args.l * args.n, Acc(0));
  }
  void storeGroup(int64_t b, int64_t g) const {
    for (int64_t t = 0; t < args.l; ++t)
      for (int64_t j = 0; j < args.n; ++j) {
        *args.dB.at(b, t, g, j) = T(dB[t * args.n + j]);
        *args.dC.at(b, t, g, j) = T(dC[t * args.n + j]);
      }
  }

  /// Adds this element of the batch to what the head's weights get.
  void run(int64_t batch, int64_t head) {
    b = batch;
    h = head;
    g = h / args.headsPerGroup();
    rate = decayRate(double(Acc(*args.step.aLog.at(h))));
    dALog = dBias = 0;
    loadInitial();
    for (int64_t chunk = 0; chunk < args.chunks(); ++chunk)
      keepStart(chunk);
    loadCotangent();
    for (int64_t chunk = args.chunks() - 1; chunk >= 0; --chunk)
      passChunk(chunk);
    for (int64_t i = 0; i < args.p; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        *args.dinitial.at(b, h, i, j) = cotangent[j * args.p + i];
    *args.dALog.at(h) += Acc(dALog);
    *args.dDtBias.at(h) += Acc(dBias);
  }

private:
  int64_t endOf(int64_t chunk) const {
    return std::min((chunk + 1) * args.chunk, args.l);
  }
  int64_t placeOf(int64_t t) const {
    return args.places.data ? *args.places.at(b, t) : 1;
  }

  void loadInitial() {
    for (int64_t i = 0; i < args.p; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        befores[j * args.p + i] =
            args.initial.data ? Acc(*args.initial.at(b, h, i, j)) : Acc(0);
  }
  void loadCotangent() {
    for (int64_t i = 0; i < args.p; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        cotangent[j * args.p + i] =
            args.dstate.data ? *args.dstate.at(b, h, i, j) : Acc(0);
  }

  /// From the state in front of a chunk, which is in `befores`, that behind it.
  void keepStart(int64_t chunk) {
    std::copy(befores, befores + elements, starts + chunk * elements);
    for (int64_t t = chunk * args.chunk; t < endOf(chunk); ++t)
      advance(t, befores, befores);
  }

  /// The state behind token t, from the one in front of it.
  void advance(int64_t t, const Acc *from, Acc *to) {
    int64_t place = placeOf(t);
    if (place < 0) {
      std::copy(from, from + elements, to);
      return;
    }
    Acc delta = stepSize(args.step, b, t, h);
    Acc decay = Acc(decayOf(rate, delta));
    for (int64_t j = 0; j < args.n; ++j) {
      Acc bValue = *args.B.at(b, t, g, j);
      for (int64_t i = 0; i < args.p; ++i) {
        Acc input = delta * Acc(*args.x.at(b, t, h, i)) * bValue;
        Acc before = from[j * args.p + i];
        to[j * args.p + i] = place == 0 ? input : decay * before + input;
      }
    }
  }

  void passChunk(int64_t chunk) {
    int64_t begin = chunk * args.chunk, end = endOf(chunk);
    std::copy(starts + chunk * elements, starts + (chunk + 1) * elements,
              befores);
    for (int64_t t = begin; t < end; ++t)
      advance(t, befores + (t - begin) * elements,
              befores + (t - begin + 1) * elements);
    for (int64_t t = end - 1; t >= begin; --t)
      if (placeOf(t) >= 0)
        pass(t, befores + (t - begin) * elements,
             befores + (t - begin + 1) * elements);
      else
        skip(t);
  }

  /// A row without a token.
  void skip(int64_t t) const {
    for (int64_t i = 0; i < args.p; ++i)
      *args.dx.at(b, t, h, i) = T(0);
    *args.ddt.at(b, t, h) = T(0);
  }

  /// What token t made of the state in front of it, backwards.
  void pass(int64_t t, const Acc *before, const Acc *behind) {
    bool starts = placeOf(t) == 0;
    Acc delta = stepSize(args.step, b, t, h);
    Acc decay = Acc(decayOf(rate, delta));
    readOut(t, behind);
    double dLogDecay = 0;
    if (!starts)
      for (int64_t e = 0; e < elements; ++e)
        dLogDecay += double(cotangent[e]) * double(before[e]);
    dLogDecay *= double(decay);
    double dDelta = dLogDecay * rate + takeIn(t, delta);
    dALog += dLogDecay * rate * double(delta);
    double dDt = dDelta * stepSlope(args.step, b, t, h);
    dBias += dDt;
    *args.ddt.at(b, t, h) = T(Acc(dDt));
    for (int64_t e = 0; e < elements; ++e)
      cotangent[e] = starts ? Acc(0) : decay * cotangent[e];
  }

  /// y = S C + D x.
  void readOut(int64_t t, const Acc *state) {
    for (int64_t i = 0; i < args.p; ++i) {
      Acc dy = *args.dy.at(b, t, h, i);
      Acc x = *args.x.at(b, t, h, i);
      *args.dD.at(h, i) += dy * x;
      for (int64_t j = 0; j < args.n; ++j) {
        dC[t * args.n + j] += state[j * args.p + i] * dy;
        cotangent[j * args.p + i] += dy * Acc(*args.C.at(b, t, g, j));
      }
    }
  }

  /// S += delta x B^T. Gives what delta gets of it.
  double takeIn(int64_t t, Acc delta) {
    std::fill(inputs, inputs + args.p, Acc(0));
    for (int64_t j = 0; j < args.n; ++j) {
      Acc bValue = *args.B.at(b, t, g, j), sum = 0;
      for (int64_t i = 0; i < args.p; ++i) {
        Acc value = cotangent[j * args.p + i];
        inputs[i] += value * bValue;
        sum += value * Acc(*args.x.at(b, t, h, i));
      }
      dB[t * args.n + j] += delta * sum;
    }
    double dDelta = 0;
    for (int64_t i = 0; i < args.p; ++i) {
      dDelta += double(inputs[i]) * double(Acc(*args.x.at(b, t, h, i)));
      Acc dx = delta * inputs[i];
      if (args.D.data)
        dx += Acc(*args.D.at(h, i)) * Acc(*args.dy.at(b, t, h, i));
      *args.dx.at(b, t, h, i) = T(dx);
    }
    return dDelta;
  }

  const SsdGradArgs<T> &args;
  int64_t elements;
  int64_t b = 0, h = 0, g = 0;
  double rate = 0, dALog = 0, dBias = 0;
  /// In front of each chunk; in front of each token of one, and behind it.
  Acc *starts, *befores;
  /// Of the state behind the token that is next.
  Acc *cotangent;
  /// Of delta x.
  Acc *inputs;
  Acc *dB, *dC;
};

} // namespace

template <typename T> const char *ssdGrad(const Call &call) {
  using Acc = AccumulatorOf<T>;
  SsdGradArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory = scratch(Slot::Kernel, Head<T>::bytes(args));
  if (!memory)
    return outOfMemory("ssd_grad");
  for (int64_t h = 0; h < args.h; ++h) {
    *args.dALog.at(h) = *args.dDtBias.at(h) = Acc(0);
    for (int64_t i = 0; i < args.p; ++i)
      *args.dD.at(h, i) = Acc(0);
  }
  Head<T> head(args, memory);
  int64_t each = args.headsPerGroup();
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t g = 0; g < args.g; ++g) {
      head.startGroup();
      for (int64_t h = g * each; h < (g + 1) * each; ++h)
        head.run(b, h);
      head.storeGroup(b, g);
    }
  return nullptr;
}

template const char *ssdGrad<float>(const Call &);
template const char *ssdGrad<double>(const Call &);
template const char *ssdGrad<BFloat16>(const Call &);

} // namespace cp::kernels::reference
