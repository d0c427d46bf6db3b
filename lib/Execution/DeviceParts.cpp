//===- DeviceParts.cpp - What ranks have of a tensor on a device ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceParts.h"

namespace cp {

llvm::Error DeviceParts::make(RankWorld &world,
                              llvm::function_ref<size_t(int64_t)> bytesOf) {
  if (!world.hasDevice() || !pointers.empty())
    return llvm::Error::success();
  std::vector<void *> made(size_t(world.numRanks()), nullptr);
  for (int64_t rank : world.ranksHere())
    if (llvm::Error error = world.allocate(rank, int64_t(bytesOf(rank)))
                                .moveInto(made[size_t(rank)]))
      return error;
  pointers = std::move(made);
  return llvm::Error::success();
}

llvm::Error
DeviceParts::send(RankWorld &world,
                  llvm::function_ref<llvm::ArrayRef<uint8_t>(int64_t)> partOf) {
  if (!world.hasDevice() || !deviceIsOld)
    return llvm::Error::success();
  if (llvm::Error error =
          make(world, [&](int64_t rank) { return partOf(rank).size(); }))
    return error;
  for (int64_t rank : world.ranksHere())
    if (llvm::Error error = world.upload(rank, at(rank), partOf(rank)))
      return error;
  deviceIsOld = false;
  return llvm::Error::success();
}

llvm::Error DeviceParts::fetch(
    RankWorld &world,
    llvm::function_ref<llvm::MutableArrayRef<uint8_t>(int64_t)> partOf) {
  if (!world.hasDevice() || !hostIsOld)
    return llvm::Error::success();
  for (int64_t rank : world.ranksHere())
    if (llvm::Error error = world.download(rank, partOf(rank), at(rank)))
      return error;
  hostIsOld = false;
  return llvm::Error::success();
}

} // namespace cp
