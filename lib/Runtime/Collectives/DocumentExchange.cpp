//===- DocumentExchange.cpp - Ranks that have the same documents ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentExchange.h"

#include "Core/DocumentLists.h"

using namespace cp::runtime;

Error cp::runtime::gatherLists(DeviceQueue &device, const Descriptor &call,
                               size_t index, const List<Taken> &all,
                               ListsOfAll &lists) {
  const Buffer &own = call.allBuffers()[index];
  auto count = int64_t(all.size()), size = numElements(own);
  lists.sizes = {count, own.sizes[0], own.sizes[1]};
  // Where nobody else has a part the call may be in a recording, which memory
  // that grows is not for.
  if (count == 1) {
    lists.strides = {0, own.strides[0], own.strides[1]};
    lists.data = own.data;
    return std::nullopt;
  }
  lists.strides = {size, own.sizes[1], 1};
  int64_t bytes = numBytes(own);
  char *memory = device.termMemory(count * bytes);
  lists.data = memory;
  if (bytes && !memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no " + std::to_string(count * bytes) +
                       " bytes left on the device to compare documents; use "
                       "more ranks"};
  return packOnDevice(device, call, all, 0, memory, bytes);
}

namespace {
/// The lists of all ranks where the host can read them: their own, or copies of
/// what a device has.
class ListsOfRanks {
public:
  Error read(Context &context, const Descriptor &call, Exchange &exchange,
             size_t index, const List<Taken> &all) {
    if (DeviceQueue *device = context.deviceOfCall())
      return bring(*device, call, exchange, index, all);
    for (const Taken &each : all)
      rows.push_back(each.views[0].buffer);
    return std::nullopt;
  }
  const Buffer &of(int64_t rank) const { return rows[size_t(rank)]; }

private:
  Error bring(DeviceQueue &device, const Descriptor &call, Exchange &exchange,
              size_t index, const List<Taken> &all) {
    ListsOfAll lists = {};
    if (Error failure = gatherLists(device, call, index, all, lists))
      return failure;
    // The device may wait for peers that never come. Who waits for it waits for
    // the messages of rounds that are over first, with the deadline.
    if (Error failure = exchange.nextRound({}))
      return failure;
    strides = {lists.strides[1], lists.strides[2]};
    const Buffer &own = call.allBuffers()[index];
    int64_t size = numElements(own);
    copies.resize(all.size() * size_t(size));
    for (size_t rank = 0; rank < all.size(); ++rank)
      rows.push_back({copies.data() + int64_t(rank) * size, DType::I32, 2,
                      own.sizes, strides.data()});
    if (Error failure = device.download(copies.data(), lists.data,
                                        int64_t(copies.size() * 4)))
      return failure;
    return device.synchronize();
  }

  List<Buffer> rows;
  List<int32_t> copies;
  std::array<int64_t, 2> strides;
};
} // namespace

Error cp::runtime::expectSameDocuments(Context &context, const Descriptor &call,
                                       Exchange &exchange, const Group &group,
                                       const DocumentMoves &round) {
  if (group.size == 1)
    return std::nullopt;
  List<Taken> all;
  if (Error failure = exchange.takeAll(all))
    return failure;
  ListsOfRanks lists;
  if (Error failure =
          exchange.told(lists.read(context, call, exchange, round.lists, all)))
    return failure;
  for (int64_t peer = 1; peer < group.size; ++peer)
    if (std::optional<int64_t> row =
            otherDocuments(lists.of(0), lists.of(peer)))
      return exchange.failAll(
          {CPRT_MISMATCH,
           call.title() + ": positions 0 and " + std::to_string(peer) +
               " of the group have other documents in row " +
               std::to_string(*row) +
               " of their cu_seqlens; give all ranks of a sequence the same"});
  return std::nullopt;
}
