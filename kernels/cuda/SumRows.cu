//===- SumRows.cu - Rows added up in their order, on a card ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

namespace {

/// A thread a column.
template <typename T> struct SumColumns {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  SumRowsArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t column = int64_t(blockX()) * threads + thread();
    if (column >= args.n)
      return;
    auto sum = AccumulatorOf<T>(widened(*at(args.x, 0, column)));
    CP_UNROLL_FOUR
    for (int64_t row = 1; row < args.r; ++row)
      sum += AccumulatorOf<T>(widened(*at(args.x, row, column)));
    *at(args.y, column) = narrowed<T>(sum);
  }
};

/// A thread for as many columns as fill 16 bytes; of float and BFloat16.
template <typename T> struct SumVectors {
  static constexpr int threads = 256, blocks = 1, width = vectorWidth<T>;
  using Shared = Nothing;

  SumRowsArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t column = (int64_t(blockX()) * threads + thread()) * width;
    if (column >= args.n)
      return;
    float sums[width], terms[width];
    widen(load(0, column), sums);
    CP_UNROLL_FOUR
    for (int64_t row = 1; row < args.r; ++row) {
      widen(load(row, column), terms);
      CP_UNROLL
      for (int i = 0; i < width; ++i)
        sums[i] += terms[i];
    }
    *reinterpret_cast<uint4 *>(at(args.y, column)) = narrow(sums);
  }

private:
  CP_DEVICE uint4 load(int64_t row, int64_t column) const {
    return *reinterpret_cast<const uint4 *>(at(args.x, row, column));
  }
};

} // namespace

template <typename T> const char *sumRows(const Call &call, void *stream) {
  SumRowsArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  if constexpr (sizeof(T) < sizeof(double))
    if (isVectorised(args.x, args.n) && isVectorised(args.y, args.n)) {
      using Sums = SumVectors<T>;
      return launch("sum_rows", Sums{args},
                    {ceilDiv(args.n, int64_t(Sums::threads) * Sums::width)},
                    stream);
    }
  using Sums = SumColumns<T>;
  return launch("sum_rows", Sums{args}, {ceilDiv(args.n, Sums::threads)},
                stream);
}

template const char *sumRows<float>(const Call &, void *);
template const char *sumRows<double>(const Call &, void *);
template const char *sumRows<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
