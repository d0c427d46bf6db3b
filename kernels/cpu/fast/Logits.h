//===- fast/Logits.h - Logits of a language model, in tiles -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logits are made some tokens and, in the adjoint, some of the vocabulary at a
// time, as products of matrices, and used up while they are near: they are
// never all in memory (Hsu et al., "Liger Kernel", 2024; Wijmans et al., "Cut
// your losses in large-vocabulary language models", 2024). Tokens whose label
// is ignored are left out of the products.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_LOGITS_H
#define CP_KERNELS_CPU_FAST_LOGITS_H

#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Matmul.h"

namespace cp::kernels::fast {

/// The tokens with a label that counts, by their number in [b, l].
template <typename Args> class CountedTokens {
public:
  explicit CountedTokens(const Args &args) : args(args) {}

  /// How many there are at most.
  int64_t most() const { return args.b * args.l; }

  /// Fills `numbers`, of most() elements, and calls `ignored` with the others.
  template <typename Fn> void find(int64_t *numbers, Fn ignored) {
    tokens = numbers;
    count = 0;
    for (int64_t token = 0; token < most(); ++token)
      if (args.labels.at(token / args.l, token % args.l) != args.ignoreIndex)
        tokens[count++] = token;
      else
        ignored(token / args.l, token % args.l);
  }

  int64_t rowOf(int64_t i) const { return tokens[i] / args.l; }
  int64_t placeOf(int64_t i) const { return tokens[i] % args.l; }
  int64_t labelOf(int64_t i) const {
    return args.labels.at(rowOf(i), placeOf(i));
  }
  /// Where token i starts in a tensor [b, l, ...].
  template <typename View> int64_t offsetIn(const View &view, int64_t i) const {
    return rowOf(i) * view.strides[0] + placeOf(i) * view.strides[1];
  }

  int64_t count = 0;

private:
  const Args &args;
  int64_t *tokens = nullptr;
};

/// Logits of some tokens by some of the vocabulary, a row for each token. All
/// of them are taken `tokens` by `words`.
template <typename Isa, typename T> struct Logits {
  using Acc = AccumulatorOf<T>;
  static constexpr int64_t mostTokens = 512, mostWords = 2048;

  template <typename Args>
  explicit Logits(const Args &args)
      : tokens(least(args.b * args.l, mostTokens)),
        words(least(args.v, mostWords)) {}

  size_t bytes() const {
    return carved<Acc>(tokens * words) + carved<int64_t>(tokens);
  }
  void take(Carver &carver) {
    data = carver.take<Acc>(tokens * words);
    rows = carver.take<int64_t>(tokens);
    for (int64_t i = 0; i < tokens; ++i)
      rows[i] = i * words;
  }

  /// Those of `count` tokens, which start at `offsets` of h, by `wordCount`
  /// words from `word` on.
  template <typename Args>
  const char *compute(const Args &args, const int64_t *offsets, int64_t count,
                      int64_t word, int64_t wordCount) const {
    MatmulArgs<T, Acc> product = {};
    product.m = count;
    product.n = wordCount;
    product.k = args.d;
    product.a = {args.h.data, offsets, args.h.strides[2]};
    product.w = {args.weight.at(word),
                 {args.weight.strides[1], args.weight.strides[0]}};
    product.c = {data, rows, 1};
    return Matmul<Isa, T, Acc, Acc>::compute(product);
  }

  /// Calls fn(i, row) for each of `count` rows, on all threads.
  template <typename Fn>
  void forEach(int64_t count, int64_t wordCount, Fn fn) const {
    // An exponential, in multiply-adds.
    constexpr int64_t cost = 8;
    share(count, count * wordCount * cost, [&](Items &items) -> const char * {
      for (int64_t i; items.take(i);)
        fn(i, data + rows[i]);
      return nullptr;
    });
  }

  int64_t tokens, words;
  Acc *data = nullptr;
  int64_t *rows = nullptr;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_LOGITS_H
