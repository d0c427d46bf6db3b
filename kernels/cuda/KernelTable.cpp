//===- KernelTable.cpp - The table of kernels for cards -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "CudaKernels.h"

#include <cstdlib>
#include <cstring>

namespace cp::kernels::cuda {

static const KernelEntry entries[] = {
#define CP_KERNEL(op, type, fn) {op, DType::type, fn},
#include "CudaKernels.def"
};

const KernelEntry *kernels(size_t &count) {
  count = sizeof entries / sizeof *entries;
  return entries;
}

KernelFn findKernel(const char *op, DType dtype) {
  for (const KernelEntry &entry : entries)
    if (entry.dtype == dtype && std::strcmp(entry.op, op) == 0)
      return entry.fn;
  return nullptr;
}

static int clusterOf(int64_t blocks) {
  int cluster = 1;
  while (cluster < 8 && 2 * cluster <= blocks)
    cluster *= 2;
  return cluster;
}
static int askedCluster() {
  const char *value = std::getenv("CP_CUDA_CLUSTERS");
  return value ? clusterOf(std::strtol(value, nullptr, 10)) : 8;
}
static thread_local int limitOfClusters = askedCluster();

void limitClusters(int blocks) { limitOfClusters = clusterOf(blocks); }
int clusterLimit() { return limitOfClusters; }

static bool isAskedForWarpgroups() {
  const char *value = std::getenv("CP_CUDA_WARPGROUPS");
  return value && std::strcmp(value, "1") == 0;
}
static thread_local bool takesWarpgroups = isAskedForWarpgroups();

void multiplyByWarpgroups(bool doIt) { takesWarpgroups = doIt; }
bool multipliesByWarpgroups() { return takesWarpgroups; }

StartedForms &startedForms() {
  static thread_local StartedForms forms;
  return forms;
}

} // namespace cp::kernels::cuda
