//===- DocumentPositions.cpp - Places within documents --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentExchange.h"

#include "Core/DocumentLists.h"
#include "Core/Operations.h"

using namespace cp::runtime;

/// The places of tokens within the documents that they are of; most follow each
/// other.
namespace {
class PlaceFinder {
public:
  explicit PlaceFinder(const cp::Documents &documents) : documents(documents) {}

  int64_t placeOf(int64_t token) {
    if (token < documents.at(last))
      last = 0;
    while (documents.at(last + 1) <= token)
      ++last;
    return token - documents.at(last);
  }

private:
  const cp::Documents documents;
  /// The document that was asked for last.
  int64_t last = 0;
};
} // namespace

static void writePlaces(const Buffer &out, int64_t row,
                        const cp::Documents &documents,
                        const std::vector<int64_t> &runs) {
  PlaceFinder places(documents);
  auto *place = static_cast<int64_t *>(out.data) + row * out.strides[0];
  for (size_t run = 0; run < runs.size(); run += 3)
    for (int64_t i = 0; i < runs[run + 1]; ++i, place += out.strides[1])
      *place = places.placeOf(runs[run] + i * runs[run + 2]);
}

namespace {
/// Where this rank's rows of each element of the batch stand.
struct BatchPositions {
  const Group *group;
  /// One for each element, or one for all.
  const Positions *rows;
  bool isOfEach;

  const std::vector<int64_t> &own(int64_t row) const {
    return rows[isOfEach ? row : 0].own();
  }
};
} // namespace

static Error readPositions(Context &context, const Descriptor &call,
                           BatchPositions &read) {
  const Buffer &lists = call.in(0), &out = call.out(0);
  DocumentPositionsAttributes attrs(call);
  SequenceCut cut = {attrs.axes, attrs.orders};
  if (cut.isPerDocument()) {
    const PackedPositions *packed = nullptr;
    if (Error failure =
            findPackedPositions(context, call, cut.axes, cut.perDocument(),
                                lists, out.sizes[1], packed))
      return failure;
    read = {packed->group, packed->rows.data(), /*isOfEach=*/true};
    return std::nullopt;
  }
  const Positions *positions = nullptr;
  if (Error failure =
          findPositions(context, call, "", cut, out.sizes[1], positions))
    return failure;
  read = {positions->group, positions, /*isOfEach=*/false};
  return checkDocuments(call, lists, positions->whole);
}

Error cp::runtime::operations::documentPositions(Context &context,
                                                 const Descriptor &call) {
  const Buffer &lists = call.in(0), &out = call.out(0);
  if (DeviceQueue *device = context.deviceOfCall())
    return device->run(call, "document_places", lists.dtype,
                       {call.allBuffers(), 1, &out, 1, nullptr, 0});
  BatchPositions positions = {};
  if (Error failure = readPositions(context, call, positions))
    return failure;
  DocumentPositionsAttributes attrs(call);
  const Group *alike = positions.group;
  if (attrs.alike.size != 0)
    if (Error failure = findGroup(context, call, attrs.alike, alike))
      return failure;
  DocumentMoves documents = {0};
  Exchange exchange(context, call, *alike);
  exchange.countMoves(false);
  if (Error failure = exchange.enter(documents))
    return failure;
  if (Error failure = expectSameDocuments(call, exchange, *alike))
    return failure;
  for (int64_t row = 0; row < out.sizes[0]; ++row)
    writePlaces(out, row, documentsOf(lists, row), positions.own(row));
  return std::nullopt;
}
