//===- Operations.cpp - The operations of the runtime ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include "World.h"

#include <algorithm>
#include <cstring>

using namespace cp::runtime;

DType cp::runtime::keyType(const Descriptor &call) {
  const Buffer *begin = call.allBuffers();
  const Buffer *end = begin + call.numIns() + call.numOuts();
  const Buffer *found = std::find_if(begin, end, [](const Buffer &buffer) {
    return buffer.dtype == DType::F32 || buffer.dtype == DType::F64 ||
           buffer.dtype == DType::BF16;
  });
  return (found == end ? begin : found)->dtype;
}

cp::kernels::KernelFn cp::runtime::kernelFor(Context &context, const char *op,
                                             DType dtype) {
  auto [entry, isNew] = context.kernels.try_emplace({op, dtype}, nullptr);
  if (isNew)
    entry->second =
        cp::kernels::findCpuKernel(op, dtype, context.world.kernelSet);
  return entry->second;
}

bool cp::runtime::computes(const char *op, DType dtype) {
  return std::strstr(op, "attention") ||
         cp::kernels::findCpuKernel(op, dtype,
                                    cp::kernels::KernelSet::Reference);
}

const char *cp::runtime::kernelOf(const char *op) {
  if (!std::strcmp(op, "ring_attention"))
    return "attention";
  if (!std::strcmp(op, "ring_attention_grad"))
    return "attention_grad_block";
  return op;
}

static Error runKernel(Context &context, const Descriptor &call) {
  cp::kernels::Call decoded = {
      call.allBuffers(), call.numIns(), call.allBuffers() + call.numIns(),
      call.numOuts(),    call.attrs(),  call.numAttrs()};
  if (context.deviceOfCall())
    return context.queue->run(call, call.op(), keyType(call), decoded);
  cp::kernels::KernelFn kernel = kernelFor(context, call.op(), keyType(call));
  if (!kernel)
    return call.unsupported("there is no kernel for " + typeText(call.in(0)) +
                            "; use f32, f64 or bf16");
  if (const char *wrong = kernel(decoded))
    return call.invalid(std::string(wrong) + "; found " + call.describe());
  return std::nullopt;
}

#define GET_DEFINITIONS
#include "OperationTables.inc"
