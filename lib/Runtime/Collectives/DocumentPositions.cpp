//===- DocumentPositions.cpp - Places within documents --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Operations.h"
#include "Core/Positions.h"
#include "Exchange.h"

using namespace cp::runtime;

namespace {

/// One row of cu_seqlens.
class Documents {
public:
  Documents(const Buffer &lengths, int64_t row)
      : data(static_cast<const int32_t *>(lengths.data) +
             row * lengths.strides[0]),
        stride(lengths.strides[1]), row(row), count(lengths.sizes[1]) {}

  int64_t at(int64_t i) const { return data[i * stride]; }

  /// Whether the documents follow each other and are the whole sequence.
  Error check(const Descriptor &call, int64_t whole) const {
    if (count < 1)
      return wrong(call, "is empty", "0 and the end of each document");
    if (at(0) != 0)
      return wrong(call, "begins with " + std::to_string(at(0)), "0");
    for (int64_t i = 1; i < count; ++i)
      if (at(i) < at(i - 1))
        return wrong(call,
                     "falls from " + std::to_string(at(i - 1)) + " to " +
                         std::to_string(at(i)) + " at " + std::to_string(i),
                     "where each document ends, in their order");
    if (at(count - 1) != whole)
      return wrong(call, "ends with " + std::to_string(at(count - 1)),
                   std::to_string(whole) +
                       ", the tokens of the row; repeat it in what is left of "
                       "the list, and let padding be a document of its own");
    return std::nullopt;
  }

  bool isSameAs(const Documents &other) const {
    for (int64_t i = 0; i < count; ++i)
      if (at(i) != other.at(i))
        return false;
    return true;
  }

  /// The start of the document that has token `place`.
  int64_t startOf(int64_t place) {
    if (place < at(last))
      last = 0;
    while (at(last + 1) <= place)
      ++last;
    return at(last);
  }

private:
  Error wrong(const Descriptor &call, const std::string &what,
              const std::string &expected) const {
    return call.invalid("row " + std::to_string(row) +
                        " of this rank's cu_seqlens " + what + ", expected " +
                        expected);
  }

  const int32_t *data;
  int64_t stride, row, count;
  /// The document that was asked for last: most tokens follow each other.
  int64_t last = 0;
};

} // namespace

/// CPRT_MISMATCH, on every rank, where two have other documents.
static Error expectSameDocuments(const Descriptor &call, Exchange &exchange,
                                 const Group &group) {
  Taken first, other;
  if (Error failure = exchange.take(0, first))
    return failure;
  for (int64_t peer = 1; peer < group.size; ++peer) {
    if (Error failure = exchange.take(peer, other))
      return failure;
    for (int64_t row = 0; row < call.in(0).sizes[0]; ++row)
      if (!Documents(other.views[0].buffer, row)
               .isSameAs(Documents(first.views[0].buffer, row)))
        return exchange.failAll(
            {CPRT_MISMATCH,
             call.title() + ": positions 0 and " + std::to_string(peer) +
                 " of the group have other documents in row " +
                 std::to_string(row) +
                 " of their cu_seqlens; give all ranks of a sequence the "
                 "same"});
  }
  return std::nullopt;
}

static void writePlaces(const Buffer &out, int64_t row, Documents documents,
                        const std::vector<int64_t> &runs) {
  auto *place = static_cast<int64_t *>(out.data) + row * out.strides[0];
  for (size_t run = 0; run < runs.size(); run += 3)
    for (int64_t i = 0; i < runs[run + 1]; ++i, place += out.strides[1]) {
      int64_t token = runs[run] + i * runs[run + 2];
      *place = token - documents.startOf(token);
    }
}

Error cp::runtime::operations::documentPositions(Context &context,
                                                 const Descriptor &call) {
  const Buffer &lengths = call.in(0), &out = call.out(0);
  DocumentPositionsAttributes attrs(call);
  const Positions *positions = nullptr;
  if (Error failure =
          findPositions(context, call, "", {attrs.axes, attrs.orders},
                        out.sizes[1], positions))
    return failure;
  for (int64_t row = 0; row < lengths.sizes[0]; ++row)
    if (Error failure = Documents(lengths, row).check(call, positions->whole))
      return failure;
  auto all = [](int64_t, int64_t, List<Move> &list) {
    list.push_back({0, nullptr});
  };
  Exchange exchange(context, call, *positions->group);
  exchange.countNoMoves();
  if (Error failure = exchange.enter(all))
    return failure;
  if (Error failure = expectSameDocuments(call, exchange, *positions->group))
    return failure;
  for (int64_t row = 0; row < out.sizes[0]; ++row)
    writePlaces(out, row, Documents(lengths, row), positions->own());
  return std::nullopt;
}
