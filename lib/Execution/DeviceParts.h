//===- DeviceParts.h - What ranks have of a tensor on a device --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_DEVICEPARTS_H
#define CP_LIB_EXECUTION_DEVICEPARTS_H

#include "RankWorld.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace cp {

/// The parts of one tensor that the ranks of this process have on their device,
/// beside those in the host's memory: copies go from one to the other only when
/// the one that is asked for is out of date. Does nothing in a world without a
/// device.
class DeviceParts {
public:
  /// The host's are new.
  void changedOnHost() { hostIsOld = false, deviceIsOld = true; }
  /// A step has written those on the device.
  void changedOnDevice() { hostIsOld = true, deviceIsOld = false; }

  /// Lets the ranks here have memory for parts of these bytes.
  llvm::Error make(RankWorld &world,
                   llvm::function_ref<size_t(int64_t rank)> bytesOf);
  /// Brings what the host has to the device.
  llvm::Error
  send(RankWorld &world,
       llvm::function_ref<llvm::ArrayRef<uint8_t>(int64_t rank)> partOf);
  /// Brings what the device has to the host.
  llvm::Error fetch(
      RankWorld &world,
      llvm::function_ref<llvm::MutableArrayRef<uint8_t>(int64_t rank)> partOf);

  /// Of a rank here.
  void *at(int64_t rank) const { return pointers[size_t(rank)]; }

private:
  /// By rank; empty before they are made.
  std::vector<void *> pointers;
  bool hostIsOld = false, deviceIsOld = true;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_DEVICEPARTS_H
