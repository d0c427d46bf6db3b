//===- Packing.cpp - What packing rows costs ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include "cp/Layout/Documents.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

namespace cp {

/// The keys that the tokens of [begin, end) of a row see, each its own too.
static int64_t keysOf(llvm::ArrayRef<RowBatch::Document> row, int64_t begin,
                      int64_t end) {
  int64_t keys = 0;
  for (const RowBatch::Document &document : row) {
    int64_t first = std::max(begin, document.begin) - document.begin;
    int64_t last =
        std::min(end, document.begin + document.slots) - document.begin;
    if (first < last)
      keys += (last * (last + 1) - first * (first + 1)) / 2;
  }
  return keys;
}

/// What a rank has of a row in an order per document, which cuts over the first
/// axis that its tokens come cut over. Places behind all documents are one
/// more, and so is what pads a row that the ranks do not divide.
static std::vector<Run> packedRuns(llvm::ArrayRef<RowBatch::Document> row,
                                   const TensorSpec &tokens, Order order,
                                   int64_t rank) {
  const Layout &layout = tokens.layout;
  std::vector<int32_t> ends = {0};
  for (const RowBatch::Document &document : row)
    ends.push_back(int32_t(document.begin + document.slots));
  int axis = layout.dims[1].front().axis;
  int64_t ranks = layout.mesh.axes[size_t(axis)].size;
  ends.push_back(int32_t(tokens.shape[1]));
  ends.push_back(
      int32_t(llvm::alignTo(uint64_t(tokens.shape[1]), uint64_t(ranks))));
  std::vector<Run> runs;
  appendRuns({ends.data(), 1, int64_t(ends.size())}, order, ranks,
             layout.mesh.coordinate(rank, axis), runs);
  return runs;
}

/// What a rank does of a tensor of tokens, [rows, length].
static int64_t workOf(const PackedRows &rows, const TensorSpec &tokens,
                      std::optional<Order> perDocument, int64_t rank) {
  const Layout &layout = tokens.layout;
  int64_t work = 0;
  for (const Run &ofRows :
       runsOf(layout.mesh, layout.dims[0], tokens.shape[0], rank))
    ofRows.forEach([&](int64_t first, int64_t, int64_t count) {
      for (int64_t row = first; row < first + count; ++row)
        for (const Run &run :
             perDocument
                 ? packedRuns(rows[size_t(row)], tokens, *perDocument, rank)
                 : runsOf(layout.mesh, layout.dims[1], tokens.shape[1], rank))
          run.forEach([&](int64_t begin, int64_t, int64_t length) {
            work += keysOf(rows[size_t(row)], begin, begin + length);
          });
    });
  return work;
}

llvm::Expected<PackedRows> packedRows(const HostTensor &list, int64_t length) {
  PackedRows rows(size_t(list.shape[0]));
  std::vector<double> ends = list.asDoubles();
  size_t each = size_t(list.shape[1]);
  for (size_t row = 0; row < rows.size(); ++row) {
    llvm::ArrayRef<double> of = llvm::ArrayRef(ends).slice(row * each, each);
    if (of.front() != 0 || of.back() != double(length) || !llvm::is_sorted(of))
      return llvm::createStringError(
          "row " + std::to_string(row) +
          " of cu_seqlens must begin with 0, not fall, and end with " +
          std::to_string(length));
    for (size_t i = 1; i < each; ++i) {
      auto begin = int64_t(of[i - 1]), places = int64_t(of[i]) - begin;
      if (places > 0)
        rows[row].push_back({begin, places, places});
    }
  }
  return rows;
}

void printPacking(const PackedRows &rows, llvm::ArrayRef<TensorSpec> specs,
                  std::optional<Order> perDocument, llvm::raw_ostream &os) {
  const TensorSpec &tokens = *RowBatch::tokensOf(specs);
  int64_t held = 0, count = 0, places = tokens.shape[0] * tokens.shape[1];
  for (const auto &row : rows)
    for (const RowBatch::Document &document : row) {
      held += document.tokens;
      count += document.tokens > 0;
    }
  int64_t most = 0, ranks = tokens.layout.mesh.numRanks();
  double sum = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t work = workOf(rows, tokens, perDocument, rank);
    most = std::max(most, work);
    sum += double(work);
  }
  os << "packing\n  " << held << " tokens in " << count << " documents, "
     << places - held << " of " << places << " places without one ("
     << llvm::format("%.1f", 100.0 * double(places - held) / double(places))
     << " %)\n  attention "
     << (perDocument ? std::string("in the order ") + orderName(*perDocument)
                     : "where queries stay with their tokens")
     << ": the busiest rank does "
     << llvm::format("%.3f", sum > 0 ? double(most) * double(ranks) / sum : 1.0)
     << " times the mean\n";
}

} // namespace cp
