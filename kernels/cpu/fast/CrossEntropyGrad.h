//===- fast/CrossEntropyGrad.h - The adjoint of the fast loss ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CROSSENTROPYGRAD_H
#define CP_KERNELS_CPU_FAST_CROSSENTROPYGRAD_H

#include "fast/Logits.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

#include <type_traits>

namespace cp::kernels::fast {

template <typename Isa, typename T> class LinearCrossEntropyGrad {
public:
  static const char *run(const Call &call) {
    LinearCrossEntropyGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    LinearCrossEntropyGrad grad(args);
    return grad.allocate() ? grad.compute()
                           : outOfMemory("linear_cross_entropy_grad");
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;
  using Packer = Pack<Isa, T>;
  /// Whether h and the weight are widened, so that cotangents of logits are not
  /// rounded, and dh is summed aside.
  static constexpr bool isNarrow = !std::is_same_v<T, Acc>;

  explicit LinearCrossEntropyGrad(const LinearCrossEntropyGradArgs<T> &args)
      : args(args), tokens(args), logits(args) {}

  bool allocate() {
    int64_t ofTokens = isNarrow ? logits.tokens * args.d : 0;
    int64_t ofWords = isNarrow ? logits.words * args.d : 0;
    void *memory = scratch(
        Slot::Segments,
        3 * carved<int64_t>(tokens.most()) + carved<int64_t>(logits.tokens) +
            carved<int64_t>(logits.words) + 2 * carved<Acc>(ofTokens) +
            carved<Acc>(ofWords) + logits.bytes());
    if (!memory)
      return false;
    Carver carver(memory);
    auto *numbers = carver.take<int64_t>(tokens.most());
    offsets = carver.take<int64_t>(tokens.most());
    dhOffsets = carver.take<int64_t>(tokens.most());
    wideRows = carver.take<int64_t>(logits.tokens);
    words = carver.take<int64_t>(logits.words);
    wideH = carver.take<Acc>(ofTokens);
    wideDh = carver.take<Acc>(ofTokens);
    wideWeight = carver.take<Acc>(ofWords);
    logits.take(carver);
    for (int64_t i = 0; i < logits.tokens; ++i)
      wideRows[i] = i * args.d;
    for (int64_t i = 0; i < logits.words; ++i)
      words[i] = i * args.dweight.strides[0];
    tokens.find(numbers, [&](int64_t b, int64_t l) {
      for (int64_t i = 0; i < args.d; ++i)
        *args.dh.at(b, l, i) = T(0);
    });
    for (int64_t i = 0; i < tokens.count; ++i) {
      offsets[i] = tokens.offsetIn(args.h, i);
      dhOffsets[i] = tokens.offsetIn(args.dh, i);
    }
    return true;
  }

  const char *compute() {
    for (int64_t v = 0; v < args.v && tokens.count == 0; ++v)
      for (int64_t i = 0; i < args.d; ++i)
        *args.dweight.at(v, i) = Acc(0);
    for (first = 0; first < tokens.count; first += logits.tokens) {
      count = least(logits.tokens, tokens.count - first);
      if constexpr (isNarrow)
        for (int64_t i = 0; i < count; ++i)
          Packer::rows({args.h.data + offsets[first + i], 0, args.h.strides[2]},
                       1, args.d, args.d, wideH + wideRows[i], args.d);
      for (slice = 0; slice < args.slices; ++slice)
        if (const char *message = passSlice())
          return message;
      if constexpr (isNarrow)
        for (int64_t i = 0; i < count; ++i)
          for (int64_t j = 0; j < args.d; ++j)
            args.dh.data[dhOffsets[first + i] + j * args.dh.strides[2]] =
                T(wideDh[wideRows[i] + j]);
    }
    return nullptr;
  }

  const char *passSlice() {
    int64_t end = (slice + 1) * args.sliceRows();
    for (word = end - args.sliceRows(); word < end; word += logits.words)
      if (const char *message = pass(least(logits.words, end - word)))
        return message;
    return nullptr;
  }

  /// The tokens from `first` on by `wordCount` words from `word` on.
  const char *pass(int64_t wordCount) {
    if (const char *message =
            logits.compute(args, offsets + first, count, word, wordCount))
      return message;
    logits.forEach(count, wordCount, [&](int64_t i, Acc *row) {
      differentiate(first + i, row, wordCount);
    });
    if (const char *message = addToDh(wordCount))
      return message;
    return addToDweight(wordCount);
  }

  /// Logits become their cotangents.
  void differentiate(int64_t token, Acc *row, int64_t wordCount) const {
    int64_t b = tokens.rowOf(token), l = tokens.placeOf(token);
    Acc lse = *args.lse.at(b, l, slice), dloss = *args.dloss.at(b, l, slice);
    // The loss of all of a vocabulary has lse in it.
    Acc factor = args.isSliced() ? Acc(0) : dloss;
    if (args.dlse.data)
      factor += *args.dlse.at(b, l, slice);
    int64_t v = 0;
    for (; v + V::lanes <= wordCount; v += V::lanes)
      V::store(row + v, M::expNegative(V::load(row + v) - lse) * factor);
    if (int64_t left = wordCount - v; left > 0)
      V::storePart(row + v,
                   M::expNegative(V::loadPart(row + v, left) - lse) * factor,
                   left);
    int64_t label = args.rowIn(slice, tokens.labelOf(token)) - word;
    if (label >= 0 && label < wordCount)
      row[label] -= dloss;
  }

  const char *addToDh(int64_t wordCount) {
    MatmulArgs<Acc, Acc> product = {};
    product.m = count;
    product.n = args.d;
    product.k = wordCount;
    product.accumulate = word > 0;
    product.a = {logits.data, logits.rows, 1};
    if constexpr (isNarrow) {
      Packer::rows({args.weight.at(word), args.weight.strides[0],
                    args.weight.strides[1]},
                   wordCount, args.d, args.d, wideWeight, args.d);
      product.w = {wideWeight, {args.d, 1}};
      product.c = {wideDh, wideRows, 1};
    } else {
      product.w = {args.weight.at(word),
                   {args.weight.strides[0], args.weight.strides[1]}};
      product.c = {args.dh.data, dhOffsets + first, args.dh.strides[2]};
    }
    return Matmul<Isa, Acc>::compute(product);
  }

  const char *addToDweight(int64_t wordCount) {
    MatmulArgs<Acc, Acc> product = {};
    product.m = wordCount;
    product.n = args.d;
    product.k = count;
    product.accumulate = first > 0;
    product.a = {logits.data, nullptr, 1};
    product.aDepth = logits.rows;
    if constexpr (isNarrow) {
      product.w = {wideH, {0, 1}};
      product.wDepth = wideRows;
    } else {
      product.w = {args.h.data, {0, args.h.strides[2]}};
      product.wDepth = offsets + first;
    }
    product.c = {args.dweight.at(word), words, args.dweight.strides[1]};
    return Matmul<Isa, Acc>::compute(product);
  }

  const LinearCrossEntropyGradArgs<T> &args;
  CountedTokens<LinearCrossEntropyGradArgs<T>> tokens;
  Logits<Isa, T> logits;
  int64_t *offsets = nullptr, *dhOffsets = nullptr, *words = nullptr;
  /// For bf16: of the tokens at hand and the words at hand.
  Acc *wideH = nullptr, *wideDh = nullptr, *wideWeight = nullptr;
  int64_t *wideRows = nullptr;
  /// Where the tokens at hand start and how many they are, the slice and the
  /// first word.
  int64_t first = 0, count = 0, slice = 0, word = 0;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CROSSENTROPYGRAD_H
