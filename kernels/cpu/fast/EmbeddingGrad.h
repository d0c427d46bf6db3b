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
#include "Team.h"
#include "fast/Vec.h"

namespace cp::kernels::fast {

/// A thread has rows of the table, and adds up what the ids give them, in the
/// order of the ids. Most of the work is to clear the others.
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
                   for (int64_t i; items.take(i);)
                     block(args, i * blockRows,
                           least(args.v, (i + 1) * blockRows));
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  static constexpr int64_t blockRows = 2048;

  static int64_t idOf(const EmbeddingGradArgs<T> &args, int64_t row) {
    int64_t at = args.idRows[row];
    return args.hasWideIds ? static_cast<const int64_t *>(args.ids)[at]
                           : static_cast<const int32_t *>(args.ids)[at];
  }

  static void block(const EmbeddingGradArgs<T> &args, int64_t first,
                    int64_t end) {
    for (int64_t row = first; row < end; ++row)
      forEach(args, row, [](Acc &to, int64_t) { to = Acc(0); });
    for (int64_t row = 0; row < args.rows; ++row) {
      int64_t id = idOf(args, row);
      if (id < first || id >= end)
        continue;
      const T *dy = args.dy.at(row, 0);
      if (args.dy.stride == 1)
        forEach(args, id, [dy](Acc &to, int64_t i) { to += Acc(dy[i]); });
      else
        forEach(args, id,
                [&](Acc &to, int64_t i) { to += Acc(dy[i * args.dy.stride]); });
    }
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
