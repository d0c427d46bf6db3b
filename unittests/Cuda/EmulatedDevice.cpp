//===- EmulatedDevice.cpp - A device whose blocks the host runs -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plug-in libcprt_emulated.so, for tests: the kernels for cards run in the
// executor, on memory of the host that starts as 0xff bytes. What cards leave
// to a library (matrix products) is left to the processor's kernel.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
extern "C" {
#include "Room.h"
}

#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace cp::kernels;

namespace {
struct Queue {
  std::string error;
  int64_t faults[cuda::faultWords] = {};
};
} // namespace

static bool isOfLibrary(const char *op) {
  return !std::strcmp(op, "matmul") || !std::strcmp(op, "contract_rows");
}

static cprt_status openQueue(void *, int64_t, void **queue, char *, size_t) {
  *queue = new Queue;
  return CPRT_OK;
}

static void closeQueue(void *queue) { delete static_cast<Queue *>(queue); }

static void *allocate(void *, int64_t bytes) {
  constexpr size_t alignment = 256;
  size_t size = (size_t(bytes) / alignment + 1) * alignment;
  void *block = std::aligned_alloc(alignment, size);
  if (block)
    std::memset(block, 0xff, size);
  return block;
}

static void release(void *, void *pointer) { std::free(pointer); }

/// CP_EMULATED_BYTES, for tests of what does not fit.
static int64_t freeBytes(void *) {
  const char *given = std::getenv("CP_EMULATED_BYTES");
  return given ? std::atoll(given) : -1;
}

/// CP_EMULATED_WITHOUT, operations between commas, for tests of what a device
/// lacks.
static bool isLeftOut(const char *op) {
  const char *given = std::getenv("CP_EMULATED_WITHOUT");
  std::string all = "," + std::string(given ? given : "") + ",";
  return all.find("," + std::string(op) + ",") != std::string::npos;
}

static int hasKernel(void *, const char *op, cprt_dtype dtype) {
  return !isLeftOut(op) &&
         (isOfLibrary(op) || cuda::findKernel(op, DType(dtype)));
}

static Buffer bufferOf(const cprt_buffer &buffer) {
  return {buffer.data, DType(buffer.dtype), buffer.rank, buffer.sizes,
          buffer.strides};
}

static cprt_status run(void *opaque, const cprt_device_call *call) {
  auto &queue = *static_cast<Queue *>(opaque);
  std::vector<Buffer> ins, outs;
  for (size_t i = 0; i < call->num_ins; ++i)
    ins.push_back(bufferOf(call->ins[i]));
  for (size_t i = 0; i < call->num_outs; ++i)
    outs.push_back(bufferOf(call->outs[i]));
  Call made = {ins.data(),  ins.size(),       outs.data(),
               outs.size(), call->attributes, call->num_attributes};
  auto dtype = DType(call->dtype);
  cuda::noteFaultsAt(queue.faults);
  cuda::multiplyWith(test::multiplyOnHost, nullptr);
  const char *message =
      isOfLibrary(call->op)
          ? test::multiplyOnHost(nullptr, call->op, dtype, made)
          : cuda::findKernel(call->op, dtype)(made, opaque);
  queue.error = message ? message : "";
  return message ? CPRT_INVALID_ARGUMENT : CPRT_OK;
}

static cprt_status launch(void *, const cprt_kernel *kernel,
                          void *const *buffers) {
  kernel->run(buffers);
  return CPRT_OK;
}

static cprt_status copy(void *, void *to, const void *from, int64_t bytes) {
  std::memcpy(to, from, size_t(bytes));
  return CPRT_OK;
}

static cprt_status synchronize(void *opaque) {
  auto &queue = *static_cast<Queue *>(opaque);
  const char *found = cuda::faultText(queue.faults);
  queue.error = found ? found : "";
  std::fill(std::begin(queue.faults), std::end(queue.faults), 0);
  return found ? CPRT_INVALID_ARGUMENT : CPRT_OK;
}

static const char *error(void *queue) {
  return static_cast<Queue *>(queue)->error.c_str();
}

extern "C" cprt_status cprt_device_open(cprt_device *device, char *message,
                                        size_t capacity) {
  if (!cp_has_room("cprt_device", device->struct_size, sizeof(*device), message,
                   capacity))
    return CPRT_INVALID_ARGUMENT;
  *device = {};
  device->struct_size = sizeof(*device);
  device->name = "emulated";
  device->is_host_memory = 1;
  device->open = openQueue;
  device->close = closeQueue;
  device->allocate = allocate;
  device->release = release;
  device->free_bytes = freeBytes;
  device->has_kernel = hasKernel;
  device->run = run;
  device->launch = launch;
  device->upload = copy;
  device->download = copy;
  device->synchronize = synchronize;
  device->error = error;
  device->destroy = [](void *) {};
  device->shares_memory = [](void *, int64_t, int64_t) { return 1; };
  // All that it was given has run.
  device->run_after =
      device->run_before = [](void *, void *) { return CPRT_OK; };
  return CPRT_OK;
}
