//===- StreamDevice.h - A device whose queues are threads -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_STREAMDEVICE_H
#define CP_UNITTESTS_RUNTIME_STREAMDEVICE_H

#include "Stream.h"

#include "cp/Runtime/cprt_device.h"

#include <atomic>
#include <map>
#include <string>
#include <vector>

namespace cp::test {

/// A device as a card is one, with some kernels of the host's: what a queue is
/// given runs later, by delays drawn from `seed`; its memory cannot be touched
/// by the host, whose every access of it ends the program.
class StreamDevice {
public:
  class Queue;

  explicit StreamDevice(uint64_t seed);
  StreamDevice(const StreamDevice &) = delete;
  StreamDevice &operator=(const StreamDevice &) = delete;
  /// All queues are closed.
  ~StreamDevice();

  const cprt_device &table() const { return made; }
  void *openQueue();
  /// What openQueue has given.
  static Queue &at(void *queue);
  /// How a queue's work reaches the device's memory; null for other memory.
  char *reach(const void *there, size_t bytes) const;
  /// Blocks of its memory that have not been released.
  size_t numBlocks() const;
  /// How often queues were given a kernel.
  int64_t numStarted(const std::string &op) const;
  /// Bytes that went from and to the host.
  std::atomic<int64_t> hostBytes = 0;
  /// Which kernel cannot be started on which queue, for the time to come.
  struct {
    std::string op;
    const Queue *queue = nullptr;
  } broken;

private:
  void *placeOf(const cprt_buffer &buffer) const;
  static cprt_status runKernel(void *queue, const cprt_device_call *call);
  void *allocate(int64_t bytes);
  void release(Queue &queue, void *block);
  void describe();

  static constexpr size_t capacity = size_t(1) << 30;
  cprt_device made = {};
  /// The same memory, for the host and for queues.
  char *hidden = nullptr, *reachable = nullptr;

  /// Its mutex is around all of these too.
  Streams streams;
  std::map<std::string, int64_t> started;
  size_t used = 0;
  std::map<void *, size_t> blocks;
  std::map<size_t, std::vector<void *>> spare;
};

/// A queue, which libraries of the device know as its stream.
class StreamDevice::Queue : public Stream {
public:
  explicit Queue(StreamDevice &device)
      : Stream(device.streams), device(device) {}

  StreamDevice &device;
  std::string text;
};

inline StreamDevice::Queue &StreamDevice::at(void *queue) {
  return static_cast<Queue &>(*static_cast<Stream *>(queue));
}

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_STREAMDEVICE_H
