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
#include "HeldCall.h"
#include "Stream.h"
extern "C" {
#include "Room.h"
}

#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace cp::kernels;

/// CP_EMULATED_STREAMS, a seed: queues are streams then, that what they are
/// given waits in by delays drawn from it, and the memory is not the host's.
static const char *seedOfStreams() {
  return std::getenv("CP_EMULATED_STREAMS");
}

static cp::test::Streams &streams() {
  const char *seed = seedOfStreams();
  static cp::test::Streams all(seed ? std::strtoull(seed, nullptr, 10) : 0);
  return all;
}

namespace {
class Queue : public cp::test::Stream {
public:
  Queue() : Stream(streams()) {}
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;
  /// What it was given uses the members below.
  ~Queue() { drain(); }

  /// Does it, or has it done in its turn. What it finds wrong is told when it
  /// is known.
  cprt_status give(std::function<std::string()> work) {
    if (!seedOfStreams() && !isRecording()) {
      error = work();
      return error.empty() ? CPRT_OK : CPRT_INVALID_ARGUMENT;
    }
    add([this, work = std::move(work)] {
      std::string wrong = work();
      if (late.empty())
        late = std::move(wrong);
    });
    return CPRT_OK;
  }

  std::string error;
  /// Found in its turn.
  std::string late;
  int64_t faults[cuda::faultWords] = {};
  /// How often it was given a kernel, and asked to start a recording.
  int64_t numGiven = 0, numReplays = 0;
  /// What has run of kernels' forms.
  cuda::StartedForms forms;
};
} // namespace

static Queue &at(void *queue) {
  return static_cast<Queue &>(*static_cast<cp::test::Stream *>(queue));
}

static bool isOfLibrary(const char *op) {
  return !std::strcmp(op, "matmul") || !std::strcmp(op, "contract_rows");
}

static cprt_status openQueue(void *, int64_t, void **queue, char *, size_t) {
  *queue = static_cast<cp::test::Stream *>(new Queue);
  return CPRT_OK;
}

/// CP_EMULATED_COUNTS, for tests of how much a rank asks of its device.
static void closeQueue(void *opaque) {
  const Queue &queue = at(opaque);
  if (std::getenv("CP_EMULATED_COUNTS"))
    std::fprintf(stderr,
                 "emulated: given %lld calls and %lld recordings; %lld kernels "
                 "by clusters, %lld by warpgroups\n",
                 (long long)queue.numGiven, (long long)queue.numReplays,
                 (long long)queue.forms.clusters,
                 (long long)queue.forms.warpgroups);
  delete &queue;
}

static void *allocate(void *, int64_t bytes) {
  constexpr size_t alignment = 256;
  size_t size = (size_t(bytes) / alignment + 1) * alignment;
  void *block = std::aligned_alloc(alignment, size);
  if (block)
    std::memset(block, 0xff, size);
  return block;
}

static void release(void *queue, void *pointer) {
  (void)at(queue).give([pointer] {
    std::free(pointer);
    return std::string();
  });
}

/// CP_EMULATED_BYTES, for tests of what does not fit.
static int64_t freeBytes(void *) {
  const char *given = std::getenv("CP_EMULATED_BYTES");
  return given ? std::strtoll(given, nullptr, 10) : -1;
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

static std::string runHeld(Queue &queue, const cp::test::HeldCall &held) {
  cuda::noteFaultsAt(queue.faults);
  cuda::multiplyWith(test::multiplyOnHost, nullptr);
  const cuda::StartedForms before = cuda::startedForms();
  const char *message =
      isOfLibrary(held.op)
          ? test::multiplyOnHost(nullptr, held.op, held.dtype, held.get())
          : cuda::findKernel(held.op, held.dtype)(held.get(), &queue);
  queue.forms.clusters += cuda::startedForms().clusters - before.clusters;
  queue.forms.warpgroups += cuda::startedForms().warpgroups - before.warpgroups;
  return message ? message : "";
}

static cprt_status run(void *opaque, const cprt_device_call *call) {
  Queue &queue = at(opaque);
  ++queue.numGiven;
  auto held = std::make_shared<cp::test::HeldCall>(
      *call, [](const cprt_buffer &buffer) { return buffer.data; });
  return queue.give([&queue, held] { return runHeld(queue, *held); });
}

static cprt_status launch(void *queue, const cprt_kernel *kernel,
                          void *const *buffers) {
  std::vector<void *> places(buffers, buffers + kernel->num_buffers);
  ++at(queue).numGiven;
  return at(queue).give([kernel, places = std::move(places)] {
    kernel->run(places.data());
    return std::string();
  });
}

static cprt_status upload(void *queue, void *to, const void *from,
                          int64_t bytes) {
  const char *first = static_cast<const char *>(from);
  std::vector<char> held(first, first + bytes);
  return at(queue).give([to, held = std::move(held)] {
    std::memcpy(to, held.data(), held.size());
    return std::string();
  });
}

static cprt_status download(void *queue, void *to, const void *from,
                            int64_t bytes) {
  return at(queue).give([=] {
    std::memcpy(to, from, size_t(bytes));
    return std::string();
  });
}

static cprt_status synchronize(void *opaque) {
  Queue &queue = at(opaque);
  queue.drain();
  const char *found = cuda::faultText(queue.faults);
  queue.error = found ? found : std::exchange(queue.late, std::string());
  bool isOfRanks = cuda::isOfOtherRanks(queue.faults);
  std::fill(std::begin(queue.faults), std::end(queue.faults), 0);
  if (queue.error.empty())
    return CPRT_OK;
  return isOfRanks ? CPRT_MISMATCH : CPRT_INVALID_ARGUMENT;
}

static cprt_status replay(void *opaque, void *recording) {
  Queue &queue = at(opaque);
  ++queue.numReplays;
  return queue.give([works = *static_cast<cp::test::Recorded *>(recording)] {
    for (const std::function<void()> &work : *works)
      work();
    return std::string();
  });
}

static const char *error(void *queue) { return at(queue).error.c_str(); }

extern "C" cprt_status cprt_device_open(cprt_device *device, char *message,
                                        size_t capacity) {
  if (!cp_has_room("cprt_device", device->struct_size, sizeof(*device), message,
                   capacity))
    return CPRT_INVALID_ARGUMENT;
  *device = {};
  device->struct_size = sizeof(*device);
  device->name = "emulated";
  device->is_host_memory = !seedOfStreams();
  device->open = openQueue;
  device->close = closeQueue;
  device->allocate = allocate;
  device->release = release;
  device->free_bytes = freeBytes;
  device->has_kernel = hasKernel;
  device->run = run;
  device->launch = launch;
  device->upload = upload;
  device->download = download;
  device->synchronize = synchronize;
  device->error = error;
  device->destroy = [](void *) {};
  device->shares_memory = [](void *, int64_t, int64_t) { return 1; };
  if (!isLeftOut("recording")) {
    cp::test::describeRecording(*device);
    device->replay = replay;
  }
  if (!seedOfStreams()) {
    // All that it was given has run.
    device->run_after =
        device->run_before = [](void *, void *) { return CPRT_OK; };
    return CPRT_OK;
  }
  device->open_beside = [](void *, void **beside) {
    return openQueue(nullptr, 0, beside, nullptr, 0);
  };
  cp::test::describeOrder(*device);
  return CPRT_OK;
}
