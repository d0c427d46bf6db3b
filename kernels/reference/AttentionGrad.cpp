//===- reference/AttentionGrad.cpp - Adjoint of plain attention -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are computed again from lse (Dao et al., "FlashAttention", 2022,
// section 3.1 and appendix B.2).
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Reference.h"

#include <algorithm>
#include <cmath>

namespace cp::kernels::reference {

namespace {
/// One key head with its query heads, of one element of the batch.
template <typename T> class KeyHead {
public:
  using Acc = AccumulatorOf<T>;

  KeyHead(const AttentionGradArgs<T> &args, void *memory)
      : args(args), allKeys{0, args.s, 1},
        keys(args.kRuns.words ? args.kRuns : Runs{allKeys, args.s > 0}) {
    Carver carver(memory);
    dq = carver.take<Acc>(args.d);
    dk = carver.take<Acc>(args.s * args.d);
    dv = carver.take<Acc>(args.s * args.e);
  }
  static size_t bytes(const AttentionGradArgs<T> &args) {
    return carved<Acc>(args.d) + carved<Acc>(args.s * args.d) +
           carved<Acc>(args.s * args.e);
  }

  void run(int64_t batch, int64_t keyHead) {
    b = batch;
    g = keyHead;
    std::fill(dk, dk + args.s * args.d, Acc(0));
    std::fill(dv, dv + args.s * args.e, Acc(0));
    int64_t each = args.headsPerGroup();
    for (h = g * each; h < (g + 1) * each; ++h)
      passHead();
    for (int64_t key = 0; key < args.s; ++key) {
      for (int64_t i = 0; i < args.d; ++i)
        *args.dk.at(b, key, g, i) =
            before(args.dkBefore, key, g, i) + dk[key * args.d + i];
      for (int64_t i = 0; i < args.e; ++i)
        *args.dv.at(b, key, g, i) =
            before(args.dvBefore, key, g, i) + dv[key * args.e + i];
    }
  }

private:
  /// What there was of a sum.
  Acc before(const View<const Acc, 4> &sums, int64_t row, int64_t head,
             int64_t i) const {
    return sums.data ? *sums.at(b, row, head, i) : Acc(0);
  }

  void passHead() {
    View<const int64_t, 1> places;
    if (args.places.data)
      places = {args.places.at(b), {args.places.strides[1]}};
    for (int64_t row = 0; row < args.l; ++row) {
      Span query = {row, 1, {}};
      query.positions[0] = args.positions.data ? *args.positions.at(row) : row;
      passRow(row, reachOf(args.mask, query, places));
    }
  }

  void passRow(int64_t row, const Reach &reach) {
    Acc inner = args.dlse.data ? -Acc(*args.dlse.at(b, h, row)) : Acc(0);
    for (int64_t i = 0; i < args.e; ++i)
      inner +=
          Acc(*args.dout.at(b, row, h, i)) * Acc(*args.out.at(b, row, h, i));
    std::fill(dq, dq + args.d, Acc(0));
    Span span;
    for (SpanWalk walk(keys); walk.next(span);) {
      KeyRange seen = keysSeen(reach, 0, span);
      for (int64_t key = seen.begin; key < seen.end; ++key)
        passPair(row, span.local + key, inner);
    }
    for (int64_t i = 0; i < args.d; ++i) {
      Acc sum = before(args.dqBefore, row, h, i) + dq[i];
      if (args.dqSum.data)
        *args.dqSum.at(b, row, h, i) = sum;
      else
        *args.dq.at(b, row, h, i) = T(sum);
    }
  }

  void passPair(int64_t row, int64_t key, Acc inner) {
    Acc product = 0, dWeight = 0;
    for (int64_t i = 0; i < args.d; ++i)
      product += Acc(*args.q.at(b, row, h, i)) * Acc(*args.k.at(b, key, g, i));
    Acc weight = std::exp(product * Acc(args.scale) - *args.lse.at(b, h, row));
    for (int64_t i = 0; i < args.e; ++i) {
      Acc dout = *args.dout.at(b, row, h, i);
      dWeight += dout * Acc(*args.v.at(b, key, g, i));
      dv[key * args.e + i] += weight * dout;
    }
    Acc dProduct = weight * (dWeight - inner) * Acc(args.scale);
    for (int64_t i = 0; i < args.d; ++i) {
      dq[i] += dProduct * Acc(*args.k.at(b, key, g, i));
      dk[key * args.d + i] += dProduct * Acc(*args.q.at(b, row, h, i));
    }
  }

  const AttentionGradArgs<T> &args;
  const int64_t allKeys[Runs::wordsPerRun];
  const Runs keys;
  int64_t b = 0, g = 0, h = 0;
  Acc *dq, *dk, *dv;
};
} // namespace

template <typename T> static const char *run(const AttentionGradArgs<T> &args) {
  void *memory = scratch(Slot::Kernel, KeyHead<T>::bytes(args));
  if (!memory)
    return outOfMemory("attention_grad");
  KeyHead<T> head(args, memory);
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t g = 0; g < args.hkv; ++g)
      head.run(b, g);
  return nullptr;
}

template <typename T> const char *attentionGrad(const Call &call) {
  AttentionGradArgs<T> args;
  const char *message = decode(call, args);
  return message ? message : run(args);
}

template <typename T> const char *attentionGradBlock(const Call &call) {
  AttentionGradArgs<T> args;
  const char *message = decodeBlock(call, args);
  return message ? message : run(args);
}

template const char *attentionGrad<float>(const Call &);
template const char *attentionGrad<double>(const Call &);
template const char *attentionGrad<BFloat16>(const Call &);
template const char *attentionGradBlock<float>(const Call &);
template const char *attentionGradBlock<double>(const Call &);
template const char *attentionGradBlock<BFloat16>(const Call &);

} // namespace cp::kernels::reference
