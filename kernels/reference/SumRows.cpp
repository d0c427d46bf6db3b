//===- reference/SumRows.cpp - Rows added up in their order ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpArguments.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

template <typename T> const char *sumRows(const Call &call) {
  SumRowsArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t i = 0; i < args.n; ++i) {
    auto sum = AccumulatorOf<T>(*args.x.at(0, i));
    for (int64_t row = 1; row < args.r; ++row)
      sum += AccumulatorOf<T>(*args.x.at(row, i));
    *args.y.at(i) = T(sum);
  }
  return nullptr;
}

template const char *sumRows<float>(const Call &);
template const char *sumRows<double>(const Call &);
template const char *sumRows<BFloat16>(const Call &);

} // namespace cp::kernels::reference
