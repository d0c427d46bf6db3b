//===- fast/EmbeddingGrad.h - Fast adjoint of the embedding -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_EMBEDDINGGRAD_H
#define CP_KERNELS_CPU_FAST_EMBEDDINGGRAD_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Vec.h"

namespace cp::kernels::fast {

/// A thread has rows of the table, and adds up what the ids give them, in the
/// order of the ids: of an id that is used often so many at a time, whose sums
/// are added up, so that rounding does not grow with all of them. Most of the
/// work is to clear the others.
template <typename Isa, typename T> class EmbeddingGrad {
public:
  static const char *run(const Call &call) {
    EmbeddingGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    for (int64_t row = 0; row < args.rows; ++row)
      if (int64_t id = idOf(args, row); id < 0 || id >= args.v)
        return fail(
            "embedding_grad: id %lld (number %lld) must be in [0, %lld), "
            "the rows of the table; check the tokenizer's vocabulary",
            static_cast<long long>(id), static_cast<long long>(row),
            static_cast<long long>(args.v));
    return share(ceilDiv(args.v, blockRows), args.v * args.d,
                 [&](Items &items) -> const char * {
                   void *memory = scratch(Slot::Kernel,
                                          carved<int64_t>(args.rows) +
                                              2 * carved<int64_t>(blockRows) +
                                              carved<Acc>(args.d));
                   if (!memory)
                     return outOfMemory("embedding_grad");
                   Carver carver(memory);
                   Uses uses = {carver.take<int64_t>(args.rows),
                                carver.take<int64_t>(blockRows),
                                carver.take<int64_t>(blockRows)};
                   auto *part = carver.take<Acc>(args.d);
                   for (int64_t i; items.take(i);)
                     block(args, i * blockRows,
                           least(args.v, (i + 1) * blockRows), uses, part);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  static constexpr int64_t blockRows = 2048, partRows = 256;

  /// Of each of a block's ids the first row and the last one that have it, and
  /// of each row the next one that has its id; -1 where there is none.
  struct Uses {
    int64_t *next, *first, *last;
  };

  static int64_t idOf(const EmbeddingGradArgs<T> &args, int64_t row) {
    int64_t at = args.idRows[row];
    return args.hasWideIds ? static_cast<const int64_t *>(args.ids)[at]
                           : static_cast<const int32_t *>(args.ids)[at];
  }

  static void block(const EmbeddingGradArgs<T> &args, int64_t first,
                    int64_t end, const Uses &uses, Acc *part) {
    for (int64_t i = 0; i < end - first; ++i)
      uses.first[i] = -1;
    for (int64_t row = 0; row < args.rows; ++row) {
      int64_t id = idOf(args, row);
      if (id < first || id >= end)
        continue;
      int64_t i = id - first;
      (uses.first[i] < 0 ? uses.first[i] : uses.next[uses.last[i]]) = row;
      uses.last[i] = row;
      uses.next[row] = -1;
    }
    for (int64_t id = first; id < end; ++id) {
      forEach(args, id, [](Acc &to, int64_t) { to = Acc(0); });
      int64_t row = uses.first[id - first];
      for (int64_t i = 0; i < partRows && row >= 0; ++i, row = uses.next[row])
        add(args, row, [&](auto of) {
          forEach(args, id, [of](Acc &to, int64_t i) { to += of(i); });
        });
      while (row >= 0) {
        for (int64_t i = 0; i < args.d; ++i)
          part[i] = Acc(0);
        for (int64_t i = 0; i < partRows && row >= 0; ++i, row = uses.next[row])
          add(args, row, [&](auto of) {
            for (int64_t i = 0; i < args.d; ++i)
              part[i] += of(i);
          });
        forEach(args, id, [part](Acc &to, int64_t i) { to += part[i]; });
      }
    }
  }

  /// Calls `fn` with what gives a row's elements.
  template <typename Fn>
  [[gnu::always_inline]] static void add(const EmbeddingGradArgs<T> &args,
                                         int64_t row, Fn fn) {
    const T *dy = args.dy.at(row, 0);
    if (args.dy.stride == 1)
      fn([dy](int64_t i) { return Acc(dy[i]); });
    else
      fn([dy, step = args.dy.stride](int64_t i) { return Acc(dy[i * step]); });
  }

  template <typename Fn>
  [[gnu::always_inline]] static void forEach(const EmbeddingGradArgs<T> &args,
                                             int64_t row, Fn fn) {
    Acc *to = args.dtable.at(row, 0);
    if (args.dtable.strides[1] == 1)
      for (int64_t i = 0; i < args.d; ++i)
        fn(to[i], i);
    else
      for (int64_t i = 0; i < args.d; ++i)
        fn(to[i * args.dtable.strides[1]], i);
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_EMBEDDINGGRAD_H
