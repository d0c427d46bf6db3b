//===- SessionDevice.cpp - A session's tensors on a device ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"

#include "cp/Execution/Memory.h"
#include "llvm/ADT/STLExtras.h"

namespace cp {

llvm::Error Session::Impl::checkDevice(const Bound &bound) const {
  if (!world->hasDevice() || last)
    return llvm::Error::success();
  MemoryUse need = memoryNeed(*bound.program).rank;
  for (int64_t rank : world->ranksHere()) {
    int64_t there = world->freeBytes(rank);
    if (there < 0 || need.total() <= there)
      continue;
    return llvm::createStringError(
        "a rank needs " + bytesText(need.total()) + " of its device (" +
        partsText(need) + "), but its share of what is left there is " +
        bytesText(there) +
        "; take more ranks or devices, or a shorter sequence");
  }
  return llvm::Error::success();
}

llvm::Error Session::Impl::sendToDevices(Bound &bound) {
  for (size_t number : bound.arguments) {
    Argument &argument = arguments[number];
    if (llvm::Error error = argument.onDevice.send(
            *world, [&](int64_t rank) -> llvm::ArrayRef<uint8_t> {
              return argument.of(rank).bytes;
            }))
      return error;
  }
  for (size_t i = 0; i < bound.results.size(); ++i) {
    llvm::ArrayRef<HostTensor> parts = bound.results[i];
    if (parts.empty())
      continue;
    auto bytesOf = [parts](int64_t rank) {
      return parts[size_t(rank)].bytes.size();
    };
    if (llvm::Error error = bound.onDevice[i].make(*world, bytesOf))
      return error;
  }
  return llvm::Error::success();
}

void Session::Impl::noteOnDevices(const Bound &bound) {
  if (!world->hasDevice())
    return;
  for (size_t number : bound.arguments)
    if (arguments[number].isUpdated)
      arguments[number].onDevice.changedOnDevice();
  for (DeviceParts &result : last->onDevice)
    result.changedOnDevice();
}

llvm::Error Session::Impl::fetchArgument(size_t number) {
  Argument &argument = arguments[number];
  // What is shared nothing updates.
  return argument.onDevice.fetch(
      *world, [&](int64_t rank) -> llvm::MutableArrayRef<uint8_t> {
        return argument.parts[size_t(rank)].bytes;
      });
}

llvm::Error Session::Impl::fetchResult(size_t number) {
  return last->onDevice[number].fetch(
      *world, [&](int64_t rank) -> llvm::MutableArrayRef<uint8_t> {
        return last->results[number][size_t(rank)].bytes;
      });
}

} // namespace cp
