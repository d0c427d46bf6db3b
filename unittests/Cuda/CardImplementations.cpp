//===- CardImplementations.cpp - The kernels of cards, on a card ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of the tests go to the card and back around each call.
//
//===----------------------------------------------------------------------===//

#include "Blas.h"
#include "CardTensors.h"
#include "EmulatedKernels.h"
#include "Forms.h"
#include "Support.h"

namespace cp::kernels::test {

/// Ten times the card's kind: 90 of sm_90.
static int kindOfCard() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                             device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                             device) != cudaSuccess)
    return 0;
  return 10 * major + minor;
}

int64_t numRepairs() { return 0; }
bool countsRepairs() { return false; }
bool WithSharedMemory::tell(size_t) { return false; }
bool hasClusters() { return kindOfCard() >= 90; }
bool hasWarpgroups() { return kindOfCard() == 90; }

namespace {
/// Products, which are cuBLAS's.
const char *multiplyOnCard(void *, const char *op, DType dtype,
                           const Call &call) {
  static std::unique_ptr<cuda::Blas> blas;
  if (!blas)
    if (const char *message = cuda::Blas::open(nullptr, blas))
      return message;
  return blas->run(op, dtype, call);
}

template <cuda::KernelFn Kernel> struct OnCard {
  static const char *run(const Call &call) {
    CardTensors tensors;
    std::vector<Buffer> ins, outs;
    for (size_t i = 0; i < call.numIns; ++i)
      ins.push_back(tensors.bring(call.ins[i]));
    for (size_t i = 0; i < call.numOuts; ++i)
      outs.push_back(tensors.bring(call.outs[i]));
    Call there = call;
    there.ins = ins.data();
    there.outs = outs.data();
    cuda::multiplyWith(multiplyOnCard, nullptr);
    if (const char *message = Kernel(there, nullptr))
      return message;
    for (size_t i = 0; i < call.numOuts; ++i)
      tensors.takeBack(call.outs[i], outs[i]);
    return tensors.error();
  }
};

template <DType Type, bool OfRows>
const char *multiply(const Call &call, void *) {
  Call there = call;
  there.isOnDevice = true;
  return multiplyOnCard(nullptr, OfRows ? "contract_rows" : "matmul", Type,
                        there);
}
} // namespace

static std::vector<KernelEntry> allEntries() {
  std::vector<KernelEntry> entries = kernelsThrough<OnCard>();
  auto add = [&](const char *op, DType dtype, KernelFn fn) {
    entries.push_back({op, dtype, KernelSet::Fast, fn});
  };
  add("matmul", DType::F32, OnCard<multiply<DType::F32, false>>::run);
  add("matmul", DType::F64, OnCard<multiply<DType::F64, false>>::run);
  add("matmul", DType::BF16, OnCard<multiply<DType::BF16, false>>::run);
  add("contract_rows", DType::F32, OnCard<multiply<DType::F32, true>>::run);
  add("contract_rows", DType::F64, OnCard<multiply<DType::F64, true>>::run);
  add("contract_rows", DType::BF16, OnCard<multiply<DType::BF16, true>>::run);
  return entries;
}

const std::vector<Implementation> &implementations() {
  static const std::vector<KernelEntry> entries = allEntries();
  static const std::vector<Implementation> list = {
      plainImplementation(), {"cuda", entries.data(), entries.size(), true}};
  return list;
}

} // namespace cp::kernels::test
