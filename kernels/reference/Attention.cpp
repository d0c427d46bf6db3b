//===- reference/Attention.cpp - Plain attention --------------------------===//
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
#include <cmath>
#include <limits>

namespace cp::kernels::reference {

/// One query against all keys, in the order of the tensor's rows.
template <typename T> class Query {
public:
  using Acc = AccumulatorOf<T>;
  static constexpr Acc none = -std::numeric_limits<Acc>::infinity();

  Query(const AttentionArgs<T> &args, void *memory) : args(args) {
    Carver carver(memory);
    weights = carver.take<Acc>(args.s);
    result = carver.take<Acc>(args.dv);
  }
  static size_t bytes(const AttentionArgs<T> &args) {
    return carved<Acc>(args.s) + carved<Acc>(args.dv);
  }

  /// Query `at` of those whose reach is known, which is row `row`.
  void attend(int64_t b, int64_t h, int64_t row, const Reach &reach,
              int64_t at) {
    int64_t g = h / args.headsPerGroup();
    score(b, h, g, row, reach, at);
    Acc sum = 0;
    std::fill(result, result + args.dv, Acc(0));
    forEachSeen(reach, at, [&](int64_t key) {
      Acc weight = std::exp(weights[key] - (top == none ? Acc(0) : top));
      sum += weight;
      for (int64_t i = 0; i < args.dv; ++i)
        result[i] += weight * Acc(*args.v.at(b, key, g, i));
    });
    Acc factor = sum == Acc(0) ? Acc(0) : Acc(1) / sum;
    for (int64_t i = 0; i < args.dv; ++i)
      if (args.sums.data)
        *args.sums.at(b, row, h, i) = result[i] * factor;
      else
        *args.o.at(b, row, h, i) = T(result[i] * factor);
    *args.lse.at(b, h, row) = sum == Acc(0) ? none : top + std::log(sum);
  }

private:
  template <typename Body>
  void forEachSeen(const Reach &reach, int64_t at, Body body) {
    Span keys;
    for (SpanWalk walk(args.kRuns); walk.next(keys);) {
      KeyRange seen = keysSeen(reach, at, keys);
      for (int64_t key = seen.begin; key < seen.end; ++key)
        body(keys.local + key);
    }
  }

  void score(int64_t b, int64_t h, int64_t g, int64_t row, const Reach &reach,
             int64_t at) {
    top = none;
    forEachSeen(reach, at, [&](int64_t key) {
      Acc product = 0;
      for (int64_t i = 0; i < args.d; ++i)
        product +=
            Acc(*args.q.at(b, row, h, i)) * Acc(*args.k.at(b, key, g, i));
      weights[key] = product * Acc(args.scale);
      top = weights[key] > top ? weights[key] : top;
    });
  }

  const AttentionArgs<T> &args;
  Acc *weights, *result;
  Acc top = none;
};

template <typename T> const char *attention(const Call &call) {
  AttentionArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory = scratch(Slot::Kernel, Query<T>::bytes(args));
  if (!memory)
    return outOfMemory("attention");
  Query<T> query(args, memory);
  Span rows;
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t h = 0; h < args.hq; ++h)
      for (SpanWalk walk(args.qRuns); walk.next(rows);) {
        Reach reach = reachOf(args.mask, rows, args.placesOf(b));
        for (int64_t i = 0; i < rows.count; ++i)
          query.attend(b, h, rows.local + i, reach, i);
      }
  return nullptr;
}

template const char *attention<float>(const Call &);
template const char *attention<double>(const Call &);
template const char *attention<BFloat16>(const Call &);

} // namespace cp::kernels::reference
