//===- Implementations.cpp - The kernels of cards, on the host ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "Executor.h"
#include "Forms.h"
#include "HostDevice.h"
#include "Support.h"

namespace cp::kernels::test {

int64_t numRepairs() { return cuda::exec::repairs(); }
bool countsRepairs() { return true; }
bool WithSharedMemory::tell(size_t bytes) {
  cuda::limitSharedMemory(bytes);
  return true;
}
bool hasClusters() { return true; }
bool hasWarpgroups() { return true; }

const std::vector<Implementation> &implementations() {
  const std::vector<KernelEntry> &entries = kernelsThrough<OnHost>();
  static const std::vector<Implementation> list = {
      plainImplementation(),
      {"cuda", entries.data(), entries.size(), true, true}};
  return list;
}

} // namespace cp::kernels::test
