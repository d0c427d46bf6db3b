//===- Documents.cu - Places within documents, on a card ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {
/// A thread a token, which finds its document by halving, and an entry of the
/// list, which it checks, and that of each rank. Lists that are wrong are
/// noted; whatever they say, places are those of tokens of the row.
struct FindPlaces {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  DocumentPlacesArgs args;
  /// Threads of a row.
  int64_t each;
  int64_t *fault;

  CP_DEVICE void operator()() const {
    int64_t index = int64_t(blockX()) * threads + thread();
    int64_t row = index / each, i = index % each;
    if (row >= args.b)
      return;
    if (i < args.n)
      check(row, i);
    if (i >= args.l)
      return;
    int64_t token = args.rows.data ? *at(args.rows, i) : i;
    *at(args.places, row, i) = token - beginOf(row, token);
  }

private:
  CP_DEVICE int64_t entryOf(int64_t rank, int64_t row, int64_t i) const {
    return *at(args.documents, rank, row, i);
  }

  CP_DEVICE void check(int64_t row, int64_t i) const {
    int64_t entry = entryOf(args.own, row, i);
    for (int64_t rank = 1; rank < args.r; ++rank)
      if (entryOf(rank, row, i) != entryOf(0, row, i))
        noteFault(fault, Fault::OtherDocuments, row, rank);
    if (i == 0 && entry != 0)
      noteFault(fault, Fault::FirstDocument, row, entry);
    if (i > 0 && entry < entryOf(args.own, row, i - 1))
      noteFault(fault, Fault::NextDocument, row, entry);
    if (i == args.n - 1 && entry != args.tokens)
      noteFault(fault, Fault::LastDocument, row, entry);
  }

  /// The last entry that is not behind the token; documents may be empty.
  CP_DEVICE int64_t beginOf(int64_t row, int64_t token) const {
    int64_t low = 0, high = args.n;
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      (entryOf(args.own, row, middle) <= token ? low : high) = middle;
    }
    int64_t begin = entryOf(args.own, row, low);
    return begin < 0 || begin > token ? 0 : begin;
  }
};
} // namespace

const char *documentPlaces(const Call &call, void *stream) {
  DocumentPlacesArgs args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  int64_t each = std::max(args.l, args.n);
  return launch("document_places", FindPlaces{args, each, faultRecord()},
                {ceilDiv(args.b * each, FindPlaces::threads)}, stream);
}

} // namespace cp::kernels::cuda
