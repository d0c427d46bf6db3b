//===- reference/Matmul.cpp - Plain matrix product ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Reference.h"

#include <algorithm>

namespace cp::kernels::reference {

/// Columns that are summed side by side. Each keeps a sum of its own over
/// k = 0, 1, ..., so the width changes no number.
static constexpr int64_t width = 32;

/// Columns [n, n + count) of op(W) as panel[k][width].
template <typename Args, typename Acc>
static void loadColumns(const Args &args, int64_t n, int64_t count,
                        Acc *panel) {
  for (int64_t k = 0; k < args.k; ++k)
    for (int64_t j = 0; j < width; ++j)
      panel[k * width + j] = j < count ? Acc(*args.wAt(k, n + j)) : Acc(0);
}

template <typename T, typename Out, typename Acc>
static void rowTimesPanel(const MatmulArgs<T, Out> &args, int64_t row,
                          int64_t n, int64_t count, const Acc *panel) {
  Acc sums[width] = {};
  for (int64_t k = 0; k < args.k; ++k) {
    Acc a = *args.aAt(row, k);
    for (int64_t j = 0; j < width; ++j)
      sums[j] += a * panel[k * width + j];
  }
  for (int64_t j = 0; j < count; ++j) {
    Out *c = args.c.at(row, n + j);
    *c = Out(args.accumulate ? Acc(*c) + sums[j] : sums[j]);
  }
}

template <typename T, typename Out>
static const char *multiply(const char *op, const MatmulArgs<T, Out> &args) {
  using Acc = AccumulatorOf<T>;
  void *memory = scratch(Slot::Kernel, carved<Acc>(args.k * width));
  if (!memory)
    return outOfMemory(op);
  auto *panel = static_cast<Acc *>(memory);
  for (int64_t n = 0; n < args.n; n += width) {
    int64_t count = std::min(width, args.n - n);
    loadColumns(args, n, count, panel);
    for (int64_t row = 0; row < args.m; ++row)
      rowTimesPanel(args, row, n, count, panel);
  }
  return nullptr;
}

template <typename T> const char *matmul(const Call &call) {
  MatmulArgs<T> args;
  const char *message = decode(call, args);
  return message ? message : multiply("matmul", args);
}

template <typename T> const char *contractRows(const Call &call) {
  MatmulArgs<T, AccumulatorOf<T>> args;
  const char *message = decodeRows<T>(call, args);
  return message ? message : multiply("contract_rows", args);
}

template const char *contractRows<float>(const Call &);
template const char *contractRows<double>(const Call &);
template const char *contractRows<BFloat16>(const Call &);
template const char *matmul<float>(const Call &);
template const char *matmul<double>(const Call &);
template const char *matmul<BFloat16>(const Call &);

} // namespace cp::kernels::reference
