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
  // A device looks at the lists itself.
  return context.deviceOfCall() ? std::nullopt
                                : checkDocuments(call, lists, positions->whole);
}

/// The ranks that have the same documents: those of the sequence, unless the
/// call names more.
static Error findAlike(Context &context, const Descriptor &call,
                       const Group &group, const Group *&alike) {
  DocumentPositionsAttributes attrs(call);
  alike = &group;
  return attrs.alike.size ? findGroup(context, call, attrs.alike, alike)
                          : std::nullopt;
}

/// Of the rows that this rank has, which are the same in every step; the kernel
/// takes none for all.
static Error runKernel(DeviceQueue &device, const Descriptor &call,
                       const Positions &positions, const Group &alike,
                       const ListsOfAll &lists) {
  static constexpr int64_t dense[] = {1};
  const Buffer &out = call.out(0);
  Buffer ins[] = {lists.buffer(),
                  {nullptr, DType::Absent, 0, nullptr, nullptr}};
  if (positions.group->size > 1 && out.sizes[1] > 0) {
    const std::vector<int64_t> &rows = positions.ownRows();
    Error failure;
    void *there = device.constant(
        rows.data(), int64_t(rows.size() * sizeof(int64_t)), failure);
    if (failure)
      return failure;
    ins[1] = {there, DType::I64, 1, out.sizes + 1, dense};
  }
  const int64_t words[] = {alike.position, positions.whole};
  return device.run(call, "document_places", DType::I32,
                    {ins, 2, &out, 1, words, 2});
}

/// By a kernel, which notes what is wrong with the lists; the host waits for
/// nothing.
static Error findOnDevice(DeviceQueue &device, const Descriptor &call,
                          const Positions &positions, const Group &alike,
                          Exchange &exchange) {
  List<Taken> all;
  if (Error failure = exchange.takeAll(all))
    return failure;
  ListsOfAll lists = {};
  if (Error failure = gatherLists(device, call, 0, all, lists))
    return failure;
  return runKernel(device, call, positions, alike, lists);
}

Error cp::runtime::operations::documentPositions(Context &context,
                                                 const Descriptor &call) {
  const Buffer &lists = call.in(0), &out = call.out(0);
  bool areRows = lists.rank == 2 && out.rank == 2;
  List<int64_t> sizes = {lists.rank ? lists.sizes[0] : 0,
                         areRows ? lists.sizes[1] : 0};
  if (Error failure = call.expectType(0, DType::I32, sizes))
    return failure;
  sizes[1] = areRows ? out.sizes[1] : 0;
  if (Error failure = call.expectType(1, DType::I64, sizes))
    return failure;
  BatchPositions positions = {};
  if (Error failure = readPositions(context, call, positions))
    return failure;
  const Group *alike = nullptr;
  if (Error failure = findAlike(context, call, *positions.group, alike))
    return failure;
  DocumentMoves documents = {0};
  Exchange exchange(context, call, *alike);
  exchange.countMoves(false);
  if (Error failure = exchange.enter(documents))
    return failure;
  if (DeviceQueue *device = context.deviceOfCall())
    return exchange.told(
        findOnDevice(*device, call, *positions.rows, *alike, exchange));
  if (Error failure =
          expectSameDocuments(context, call, exchange, *alike, documents))
    return failure;
  for (int64_t row = 0; row < out.sizes[0]; ++row)
    writePlaces(out, row, documentsOf(lists, row), positions.own(row));
  return std::nullopt;
}
