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

#include "CardTensors.h"
#include "EmulatedKernels.h"
#include "Support.h"

namespace cp::kernels::test {

namespace {
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
    if (const char *message = Kernel(there, nullptr))
      return message;
    for (size_t i = 0; i < call.numOuts; ++i)
      tensors.takeBack(call.outs[i], outs[i]);
    return tensors.error();
  }
};
} // namespace

const std::vector<Implementation> &implementations() {
  const std::vector<KernelEntry> &entries = kernelsThrough<OnCard>();
  static const std::vector<Implementation> list = {
      plainImplementation(), {"cuda", entries.data(), entries.size(), true}};
  return list;
}

} // namespace cp::kernels::test
