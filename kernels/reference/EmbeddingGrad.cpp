//===- reference/EmbeddingGrad.cpp - Rows added by their ids --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

namespace {
/// Each row of dy is added to one of the table, in the order of the ids.
template <typename T, typename Id>
const char *scatter(const EmbeddingGradArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  for (int64_t row = 0; row < args.v; ++row)
    for (int64_t i = 0; i < args.d; ++i)
      *args.dtable.at(row, i) = Acc(0);
  for (int64_t row = 0; row < args.rows; ++row) {
    int64_t id = static_cast<const Id *>(args.ids)[args.idRows[row]];
    if (id < 0 || id >= args.v)
      return fail("embedding_grad: id %lld (number %lld) must be in [0, %lld), "
                  "the rows of the table; check the tokenizer's vocabulary",
                  static_cast<long long>(id), static_cast<long long>(row),
                  static_cast<long long>(args.v));
    for (int64_t i = 0; i < args.d; ++i)
      *args.dtable.at(id, i) += Acc(*args.dy.at(row, i));
  }
  return nullptr;
}
} // namespace

template <typename T> const char *embeddingGrad(const Call &call) {
  EmbeddingGradArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  return args.hasWideIds ? scatter<T, int64_t>(args)
                         : scatter<T, int32_t>(args);
}

template const char *embeddingGrad<float>(const Call &);
template const char *embeddingGrad<double>(const Call &);
template const char *embeddingGrad<BFloat16>(const Call &);

} // namespace cp::kernels::reference
