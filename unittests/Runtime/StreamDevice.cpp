//===- StreamDevice.cpp - A device whose queues are threads ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamDevice.h"

#include "Harness.h"
#include "Kernels.h"

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

namespace {
/// A strided box, as it is when it is started.
struct Copy {
  std::vector<int64_t> sizes, toStrides, fromStrides;
  size_t element;

  void run(char *to, const char *from, size_t dim = 0) const {
    if (dim == sizes.size()) {
      std::memcpy(to, from, element);
      return;
    }
    for (int64_t i = 0; i < sizes[dim]; ++i)
      run(to + i * toStrides[dim] * int64_t(element),
          from + i * fromStrides[dim] * int64_t(element), dim + 1);
  }
};
} // namespace

static float wideOf(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
static float wideOf(float value) { return value; }
static double wideOf(double value) { return value; }

static void store(uint16_t &to, float value) {
  auto rounded = float(roundedToBF16(value));
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  to = uint16_t(bits >> 16);
}
template <typename T> static void store(T &to, T value) { to = value; }

/// Rows of `width` numbers, `stride` apart, added up in their order.
template <typename T>
static void sumRows(char *to, const char *from, int64_t rows, int64_t width,
                    int64_t stride) {
  auto *sums = reinterpret_cast<T *>(to);
  auto *terms = reinterpret_cast<const T *>(from);
  for (int64_t i = 0; i < width; ++i) {
    auto sum = wideOf(terms[i]);
    for (int64_t row = 1; row < rows; ++row)
      sum += wideOf(terms[row * stride + i]);
    store(sums[i], sum);
  }
}

cprt_status StreamDevice::startSum(Queue &queue, const cprt_buffer &from,
                                   const cprt_buffer &to) {
  auto bytes = size_t(to.sizes[0]) * cprt_dtype_size(to.dtype);
  char *target = queue.device.reach(to.data, bytes);
  const char *source = queue.device.reach(from.data, bytes);
  EXPECT_NE(target, nullptr) << "a sum in what is not the device's";
  EXPECT_NE(source, nullptr) << "a sum of what is not the device's";
  auto *sum = to.dtype == CPRT_F32   ? sumRows<float>
              : to.dtype == CPRT_F64 ? sumRows<double>
                                     : sumRows<uint16_t>;
  ++queue.device.sums;
  queue.add(
      [=, rows = from.sizes[0], width = from.sizes[1],
       stride = from.strides[0]] { sum(target, source, rows, width, stride); });
  return CPRT_OK;
}

namespace {
/// A call of one of the host's kernels, as the device's memory is reached.
class HostCall {
public:
  HostCall(const StreamDevice &device, const cprt_device_call &call)
      : attributes(call.attributes, call.attributes + call.num_attributes),
        numIns(call.num_ins), numOuts(call.num_outs) {
    kernel = cp::kernels::findCpuKernel(call.op, cp::kernels::DType(call.dtype),
                                        cp::kernels::KernelSet::Reference);
    auto add = [&](const cprt_buffer &buffer) {
      std::vector<int64_t> &each = words.emplace_back(
          buffer.sizes, buffer.sizes + (buffer.sizes ? buffer.rank : 0));
      if (buffer.strides)
        each.insert(each.end(), buffer.strides, buffer.strides + buffer.rank);
      auto *data = static_cast<char *>(buffer.data);
      // What has no elements may be anywhere.
      if (data && !std::count(each.data(), each.data() + buffer.rank, 0)) {
        data = device.reach(data, cprt_dtype_size(buffer.dtype));
        EXPECT_NE(data, nullptr) << "of what is not the device's";
      }
      buffers.push_back({data, cp::kernels::DType(buffer.dtype), buffer.rank,
                         each.data(), each.data() + buffer.rank});
    };
    std::for_each(call.ins, call.ins + call.num_ins, add);
    std::for_each(call.outs, call.outs + call.num_outs, add);
  }

  const char *run() const {
    cp::kernels::Call call = {buffers.data(),          numIns,
                              buffers.data() + numIns, numOuts,
                              attributes.data(),       attributes.size()};
    call.isOnDevice = true;
    return kernel(call);
  }

private:
  cp::kernels::KernelFn kernel;
  std::vector<int64_t> attributes;
  std::deque<std::vector<int64_t>> words;
  std::vector<cp::kernels::Buffer> buffers;
  size_t numIns, numOuts;
};
} // namespace

cprt_status StreamDevice::startKernel(Queue &queue,
                                      const cprt_device_call &call) {
  ++queue.device.kernels;
  auto made = std::make_shared<HostCall>(queue.device, call);
  queue.add([made] {
    const char *wrong = made->run();
    EXPECT_EQ(wrong, nullptr) << wrong;
  });
  return CPRT_OK;
}

cprt_status StreamDevice::runKernel(void *opaque,
                                    const cprt_device_call *call) {
  Queue &queue = at(opaque);
  const cprt_buffer &from = call->ins[0], &to = call->outs[0];
  if (&queue == queue.device.broken.queue &&
      queue.device.broken.op == call->op) {
    queue.text = "out of order";
    return CPRT_DEVICE_FAILED;
  }
  if (std::string(call->op) == "sum_rows")
    return startSum(queue, from, to);
  if (std::string(call->op) != "copy")
    return startKernel(queue, *call);
  auto words = [&](const int64_t *first) {
    return std::vector<int64_t>(first, first + from.rank);
  };
  Copy copy = {words(from.sizes), words(to.strides), words(from.strides),
               cprt_dtype_size(from.dtype)};
  EXPECT_EQ(copy.sizes, words(to.sizes));
  char *target = queue.device.reach(to.data, copy.element);
  const char *source = queue.device.reach(from.data, copy.element);
  EXPECT_NE(target, nullptr) << "a copy to what is not the device's";
  EXPECT_NE(source, nullptr) << "a copy of what is not the device's";
  ++queue.device.copies;
  queue.add([=] { copy.run(target, source); });
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
    const std::string all[] = {
        "copy",      "sum_rows",        "join_states",          "join_decays",
        "attention", "attention_merge", "attention_grad_block", "accumulate"};
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
}
