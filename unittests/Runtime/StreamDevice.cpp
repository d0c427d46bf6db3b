//===- StreamDevice.cpp - A device whose queues are threads ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamDevice.h"

#include "Harness.h"
#include "HeldCall.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace cp::test;

StreamDevice::StreamDevice(uint64_t seed) : streams(seed) {
  int file = ::memfd_create("device", 0);
  EXPECT_GE(file, 0);
  EXPECT_EQ(::ftruncate(file, off_t(capacity)), 0);
  hidden = static_cast<char *>(
      ::mmap(nullptr, capacity, PROT_NONE, MAP_SHARED, file, 0));
  reachable = static_cast<char *>(
      ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  EXPECT_NE(hidden, MAP_FAILED);
  EXPECT_NE(reachable, MAP_FAILED);
  ::close(file);
  describe();
}

StreamDevice::~StreamDevice() {
  EXPECT_EQ(numBlocks(), 0U) << "not released";
  ::munmap(hidden, capacity);
  ::munmap(reachable, capacity);
}

void *StreamDevice::openQueue() {
  return static_cast<Stream *>(new Queue(*this));
}

char *StreamDevice::reach(const void *there, size_t bytes) const {
  auto *at = static_cast<const char *>(there);
  if (at < hidden || at + bytes > hidden + capacity)
    return nullptr;
  return reachable + (at - hidden);
}

int64_t StreamDevice::numStarted(const std::string &op) const {
  std::lock_guard<std::mutex> lock(streams.mutex);
  auto found = started.find(op);
  return found == started.end() ? 0 : found->second;
}

size_t StreamDevice::numBlocks() const {
  std::lock_guard<std::mutex> lock(streams.mutex);
  return blocks.size();
}

void *StreamDevice::allocate(int64_t bytes) {
  std::lock_guard<std::mutex> lock(streams.mutex);
  size_t size = 256;
  while (size < size_t(bytes))
    size *= 2;
  std::vector<void *> &list = spare[size];
  if (list.empty()) {
    if (used + size > capacity)
      return nullptr;
    list.push_back(hidden + used);
    used += size;
  }
  void *taken = list.back();
  list.pop_back();
  blocks[taken] = size;
  return taken;
}

/// It may still be used by what the queue was given before.
void StreamDevice::release(Queue &queue, void *block) {
  size_t size = 0;
  {
    std::lock_guard<std::mutex> lock(streams.mutex);
    size = blocks.at(block);
    blocks.erase(block);
  }
  queue.add([this, block, size] {
    std::lock_guard<std::mutex> lock(streams.mutex);
    spare[size].push_back(block);
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void *StreamDevice::placeOf(const cprt_buffer &buffer) const {
  // What has no elements may be anywhere.
  if (!buffer.data || std::count(buffer.sizes, buffer.sizes + buffer.rank, 0))
    return buffer.data;
  char *place = reach(buffer.data, cprt_dtype_size(buffer.dtype));
  EXPECT_NE(place, nullptr) << "of what is not the device's";
  return place;
}

/// By the host's kernels.
cprt_status StreamDevice::runKernel(void *opaque,
                                    const cprt_device_call *call) {
  Queue &queue = at(opaque);
  StreamDevice &device = queue.device;
  if (&queue == device.broken.queue && device.broken.op == call->op) {
    queue.text = "out of order";
    return CPRT_DEVICE_FAILED;
  }
  {
    std::lock_guard<std::mutex> lock(device.streams.mutex);
    ++device.started[call->op];
  }
  auto held = std::make_shared<HeldCall>(
      *call, [&](const cprt_buffer &buffer) { return device.placeOf(buffer); });
  queue.add([held] {
    cp::kernels::Call made = held->get();
    made.isOnDevice = true;
    const char *wrong = cp::kernels::findCpuKernel(
        held->op, held->dtype, cp::kernels::KernelSet::Reference)(made);
    EXPECT_EQ(wrong, nullptr) << wrong;
  });
  return CPRT_OK;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void StreamDevice::describe() {
  made.struct_size = sizeof(made);
  made.state = this;
  made.name = "stream";
  made.open = [](void *state, int64_t, void **queue, char *, size_t) {
    *queue = static_cast<StreamDevice *>(state)->openQueue();
    return CPRT_OK;
  };
  made.close = [](void *queue) { delete &at(queue); };
  made.allocate = [](void *queue, int64_t bytes) {
    return at(queue).device.allocate(bytes);
  };
  made.release = [](void *queue, void *block) {
    at(queue).device.release(at(queue), block);
  };
  made.free_bytes = [](void *) { return int64_t(-1); };
  made.has_kernel = [](void *, const char *op, cprt_dtype) {
    const std::string all[] = {"copy",
                               "sum_rows",
                               "join_states",
                               "join_decays",
                               "attention",
                               "attention_merge",
                               "attention_grad_block",
                               "accumulate",
                               "document_places"};
    return int(std::count(std::begin(all), std::end(all), op));
  };
  made.run = runKernel;
  made.shares_memory = [](void *, int64_t, int64_t) { return 1; };
  made.launch = [](void *queue, const cprt_kernel *, void *const *) {
    at(queue).text = "no kernels";
    return CPRT_UNSUPPORTED;
  };
  made.upload = [](void *opaque, void *to, const void *from, int64_t bytes) {
    Queue &queue = at(opaque);
    const char *first = static_cast<const char *>(from);
    std::vector<char> copy(first, first + bytes);
    char *place = queue.device.reach(to, copy.size());
    EXPECT_NE(place, nullptr) << "an upload to what is not the device's";
    queue.device.hostBytes += bytes;
    queue.add([place, copy = std::move(copy)] {
      std::memcpy(place, copy.data(), copy.size());
    });
    return CPRT_OK;
  };
  made.download = [](void *opaque, void *to, const void *from, int64_t bytes) {
    Queue &queue = at(opaque);
    const char *place = queue.device.reach(from, size_t(bytes));
    EXPECT_NE(place, nullptr) << "a download of what is not the device's";
    queue.device.hostBytes += bytes;
    queue.add([=] { std::memcpy(to, place, size_t(bytes)); });
    return CPRT_OK;
  };
  made.synchronize = [](void *queue) {
    at(queue).drain();
    return CPRT_OK;
  };
  made.error = [](void *queue) { return at(queue).text.c_str(); };
  made.open_beside = [](void *queue, void **beside) {
    *beside = at(queue).device.openQueue();
    return CPRT_OK;
  };
  describeOrder(made);
  describeRecording(made);
}
