//===- LocalOps.cpp - Operations that stay on one rank --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "World.h"

#include <algorithm>

using namespace cp::runtime;

namespace {

/// The frame of one op: how many inputs are always there, and which attribute
/// words add one each.
struct LocalOp {
  const char *name;
  size_t numAttrs;
  size_t requiredIns;
  std::vector<size_t> hasAttrs;
  size_t numOuts;
};

} // namespace

static Result checkFrame(const Descriptor &call, const LocalOp &op) {
  if (call.numAttrs() != op.numAttrs)
    return call.invalid("found " + std::to_string(call.numAttrs()) +
                        " attribute words, expected " +
                        std::to_string(op.numAttrs) +
                        "; compile the program with the compiler that belongs "
                        "to this runtime");
  size_t ins = op.requiredIns;
  for (size_t word : op.hasAttrs) {
    int64_t has = call.attrs()[word];
    if (has != 0 && has != 1)
      return call.invalid("attribute word " + std::to_string(word) + " is " +
                          std::to_string(has) + ", expected 0 or 1");
    ins += size_t(has);
  }
  return call.expectCounts(ins, op.numOuts);
}

/// The type that a kernel is made for: the first floating-point buffer's. Ops
/// on integers alone go by their first buffer.
static DType keyType(const Descriptor &call) {
  const Buffer *begin = call.allBuffers();
  const Buffer *end = begin + call.numIns() + call.numOuts();
  const Buffer *found = std::find_if(begin, end, [](const Buffer &buffer) {
    return buffer.dtype != DType::I32 && buffer.dtype != DType::I64;
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

static Result runLocal(Context &context, const Descriptor &call,
                       const LocalOp &op) {
  if (Result failure = checkFrame(call, op))
    return failure;
  DType dtype = keyType(call);
  cp::kernels::KernelFn kernel = kernelFor(context, op.name, dtype);
  if (!kernel)
    return call.unsupported("there is no kernel for " + typeText(call.in(0)) +
                            "; use f32, f64 or bf16");
  cp::kernels::Call decoded = {
      call.allBuffers(), call.numIns(), call.allBuffers() + call.numIns(),
      call.numOuts(),    call.attrs(),  call.numAttrs()};
  if (const char *wrong = kernel(decoded))
    return call.invalid(std::string(wrong) + "; found " + call.describe());
  return std::nullopt;
}

static Result matmul(Context &context, const Descriptor &call) {
  static const LocalOp op = {"matmul", 2, 2, {}, 1};
  return runLocal(context, call, op);
}

static Result conv1d(Context &context, const Descriptor &call) {
  static const LocalOp op = {"conv1d", 3, 2, {0, 1}, 1};
  return runLocal(context, call, op);
}

static Result ssd(Context &context, const Descriptor &call) {
  static const LocalOp op = {"ssd", 6, 5, {3, 4, 5}, 2};
  return runLocal(context, call, op);
}

static Result ssdStates(Context &context, const Descriptor &call) {
  static const LocalOp op = {"ssd_states", 4, 4, {3}, 4};
  return runLocal(context, call, op);
}

static Result ssdScan(Context &context, const Descriptor &call) {
  static const LocalOp op = {"ssd_scan", 3, 8, {1, 2}, 2};
  return runLocal(context, call, op);
}

static Result rmsNorm(Context &context, const Descriptor &call) {
  static const LocalOp op = {"rms_norm", 5, 1, {3, 4}, 1};
  return runLocal(context, call, op);
}

static Result rotary(Context &context, const Descriptor &call) {
  static const LocalOp op = {"rotary", 2, 2, {}, 1};
  return runLocal(context, call, op);
}

static Result embedding(Context &context, const Descriptor &call) {
  static const LocalOp op = {"embedding", 0, 2, {}, 1};
  return runLocal(context, call, op);
}

static Result copy(Context &context, const Descriptor &call) {
  static const LocalOp op = {"copy", 0, 1, {}, 1};
  return runLocal(context, call, op);
}

static Result repeat(Context &context, const Descriptor &call) {
  static const LocalOp op = {"repeat", 3, 1, {}, 1};
  return runLocal(context, call, op);
}

extern "C" void cprt_matmul(cprt_context *context, cprt_stream *stream,
                            const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "matmul", matmul);
}

extern "C" void cprt_conv1d(cprt_context *context, cprt_stream *stream,
                            const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "conv1d", conv1d);
}

extern "C" void cprt_ssd(cprt_context *context, cprt_stream *stream,
                         const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "ssd", ssd);
}

extern "C" void cprt_ssd_states(cprt_context *context, cprt_stream *stream,
                                const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "ssd_states", ssdStates);
}

extern "C" void cprt_ssd_scan(cprt_context *context, cprt_stream *stream,
                              const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "ssd_scan", ssdScan);
}

extern "C" void cprt_rms_norm(cprt_context *context, cprt_stream *stream,
                              const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "rms_norm", rmsNorm);
}

extern "C" void cprt_rotary(cprt_context *context, cprt_stream *stream,
                            const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "rotary", rotary);
}

extern "C" void cprt_embedding(cprt_context *context, cprt_stream *stream,
                               const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "embedding", embedding);
}

extern "C" void cprt_copy(cprt_context *context, cprt_stream *stream,
                          const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "copy", copy);
}

extern "C" void cprt_repeat(cprt_context *context, cprt_stream *stream,
                            const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "repeat", repeat);
}
