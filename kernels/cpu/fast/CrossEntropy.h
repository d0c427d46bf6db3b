//===- fast/CrossEntropy.h - Fast loss of a language model ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CROSSENTROPY_H
#define CP_KERNELS_CPU_FAST_CROSSENTROPY_H

#include "fast/Logits.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

template <typename Isa, typename T> class LinearCrossEntropy {
public:
  static const char *run(const Call &call) {
    LinearCrossEntropyArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    LinearCrossEntropy loss(args);
    return loss.allocate() ? loss.compute()
                           : outOfMemory("linear_cross_entropy");
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;

  explicit LinearCrossEntropy(const LinearCrossEntropyArgs<T> &args)
      : args(args), tokens(args), logits(args) {}

  bool allocate() {
    void *memory = scratch(Slot::Segments, 2 * carved<int64_t>(tokens.most()) +
                                               3 * carved<Acc>(logits.tokens) +
                                               logits.bytes());
    if (!memory)
      return false;
    Carver carver(memory);
    offsets = carver.take<int64_t>(tokens.most());
    auto *numbers = carver.take<int64_t>(tokens.most());
    tops = carver.take<Acc>(logits.tokens);
    sums = carver.take<Acc>(logits.tokens);
    chosen = carver.take<Acc>(logits.tokens);
    logits.take(carver);
    tokens.find(numbers, [&](int64_t b, int64_t l) { args.ignore(b, l); });
    for (int64_t i = 0; i < tokens.count; ++i)
      offsets[i] = tokens.offsetIn(args.h, i);
    return true;
  }

  const char *compute() {
    for (int64_t first = 0; first < tokens.count; first += logits.tokens)
      for (int64_t slice = 0; slice < args.slices; ++slice)
        if (const char *message =
                pass(first, least(logits.tokens, tokens.count - first), slice))
          return message;
    return nullptr;
  }

  /// `count` tokens from `first` on by the words of a slice.
  const char *pass(int64_t first, int64_t count, int64_t slice) {
    for (int64_t i = 0; i < count; ++i) {
      tops[i] = -Acc(__builtin_inf());
      sums[i] = chosen[i] = 0;
    }
    int64_t begin = slice * args.sliceRows(), end = begin + args.sliceRows();
    for (int64_t word = begin; word < end; word += logits.words) {
      int64_t wordCount = least(logits.words, end - word);
      if (const char *message =
              logits.compute(args, offsets + first, count, word, wordCount))
        return message;
      logits.forEach(count, wordCount, [&](int64_t i, const Acc *row) {
        addWords(i, row, wordCount);
        int64_t label = args.rowIn(slice, tokens.labelOf(first + i)) - word;
        if (label >= 0 && label < wordCount)
          chosen[i] = row[label];
      });
    }
    for (int64_t i = 0; i < count; ++i) {
      Acc lse = tops[i] + Acc(__builtin_log(double(sums[i])));
      int64_t b = tokens.rowOf(first + i), l = tokens.placeOf(first + i);
      *args.lse.at(b, l, slice) = lse;
      *args.losses.at(b, l, slice) =
          (args.isSliced() ? Acc(0) : lse) - chosen[i];
    }
    return nullptr;
  }

  /// Adds the exponentials of more of a token's logits, all by the largest yet
  /// (Milakov and Gimelshein, "Online normalizer calculation for softmax",
  /// 2018).
  void addWords(int64_t i, const Acc *row, int64_t wordCount) const {
    Acc top = tops[i];
    int64_t whole = wordCount / V::lanes * V::lanes;
    if (whole > 0) {
      Type greatest = V::load(row);
      for (int64_t v = V::lanes; v < whole; v += V::lanes) {
        Type each = V::load(row + v);
        greatest = each > greatest ? each : greatest;
      }
      for (int lane = 0; lane < V::lanes; ++lane)
        top = greatest[lane] > top ? greatest[lane] : top;
    }
    for (int64_t v = whole; v < wordCount; ++v)
      top = row[v] > top ? row[v] : top;
    Type partial = {};
    for (int64_t v = 0; v < whole; v += V::lanes)
      partial += M::expNegative(V::load(row + v) - top);
    // A NaN among them stays one.
    Acc sum = tops[i] == -Acc(__builtin_inf())
                  ? sums[i]
                  : sums[i] * M::expNegative(V::splat(tops[i] - top))[0];
    for (int lane = 0; lane < V::lanes; ++lane)
      sum += partial[lane];
    if (int64_t left = wordCount - whole; left > 0) {
      Type rest = M::expNegative(V::loadPart(row + whole, left) - top);
      for (int64_t lane = 0; lane < left; ++lane)
        sum += rest[lane];
    }
    tops[i] = top;
    sums[i] = sum;
  }

  const LinearCrossEntropyArgs<T> &args;
  CountedTokens<LinearCrossEntropyArgs<T>> tokens;
  Logits<Isa, T> logits;
  int64_t *offsets = nullptr;
  /// Of the tokens at hand: the largest logit yet, the sum of exponentials by
  /// it, and the label's logit, 0 where the slice has none.
  Acc *tops = nullptr, *sums = nullptr, *chosen = nullptr;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CROSSENTROPY_H
