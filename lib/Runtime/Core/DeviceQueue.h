//===- DeviceQueue.h - One rank's place on a device -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DEVICEQUEUE_H
#define CP_LIB_RUNTIME_DEVICEQUEUE_H

#include "Copy.h"
#include "Descriptor.h"
#include "FunctionRef.h"

#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <unordered_map>

namespace cp::runtime {

/// A queue of a device, in whose order a rank's calls run. Used by one thread.
class DeviceQueue {
public:
  /// The queue of the rank that is the `number`th of this process. Memory is a
  /// caller's where `allocator` is not null.
  static Error open(const cprt_device &device, int64_t number,
                    const cprt_allocator *allocator,
                    std::unique_ptr<DeviceQueue> &made);
  DeviceQueue(const DeviceQueue &) = delete;
  DeviceQueue &operator=(const DeviceQueue &) = delete;
  ~DeviceQueue();

  const char *name() const { return device.name; }
  /// What the device calls it.
  void *handle() const { return queue; }
  bool isHostMemory() const { return device.is_host_memory; }
  bool hasKernel(const char *op, DType dtype) const {
    return device.has_kernel(device.state, op, cprt_dtype(dtype));
  }

  int64_t freeBytes() { return device.free_bytes(queue); }
  void *allocate(int64_t bytes);
  void release(void *pointer);
  /// A copy of a constant; null where there is no room for it.
  void *constant(const void *value, int64_t bytes, Error &failure);

  /// Starts a kernel; `call` is for messages.
  Error run(const Descriptor &call, const char *op, DType dtype,
            const kernels::Call &decoded);
  /// The same with buffers in the host's memory, without gaps: copies go there
  /// and the outputs back, before this returns.
  Error runFromHost(const Descriptor &call, const char *op, DType dtype,
                    const kernels::Call &decoded);
  Error launch(const cprt_kernel &kernel, void *const *buffers);
  Error upload(void *to, const void *from, int64_t bytes);
  Error download(void *to, const void *from, int64_t bytes);
  Error synchronize();
  /// What the host waits for before it waits for the queue, or takes of it.
  void settleBefore(std::function<Error()> first) {
    settles = std::move(first);
  }
  /// Another queue of the same card. CPRT_UNSUPPORTED where there is none.
  Error openBeside(std::unique_ptr<DeviceQueue> &made);
  bool opensBeside() const { return device.open_beside; }
  /// Marks what it has been given by an event, null before the first time, and
  /// waits for such a mark of another queue, by itself.
  bool marksEvents() const { return device.record; }
  Error record(void *&event);
  Error waitFor(void *event);
  void forget(void *event) { device.forget(queue, event); }
  /// What run, launch and copies within the device give it from here on does
  /// not start, but is kept, to be started by replay; nothing else may be asked
  /// of it meanwhile.
  bool records() const { return device.begin_recording; }
  Error beginRecording();
  Error endRecording(void *&recording);
  Error replay(void *recording);
  void discard(void *recording) { device.discard(queue, recording); }
  /// As of cprt_run_after and cprt_run_before.
  Error runAfter(void *stream);
  Error runBefore(void *stream);

  /// What copyMapped does, by kernels of the device, in the queue's order.
  Error copyMapped(const Descriptor &call, const Buffer &to, const Buffer &from,
                   const List<DimMap> &maps);
  /// Every element becomes the one at `element`, which stays where it is and
  /// has 8 bytes.
  Error fill(const Descriptor &call, const Buffer &to, const void *element);
  Error fillZeros(const Descriptor &call, const Buffer &to);
  /// Of an even number.
  Error copyBytes(const Descriptor &call, void *to, const void *from,
                  int64_t bytes);
  /// Memory for the terms of a sum, and for what a call stages, until more is
  /// asked for. Null where there is not that much.
  char *termMemory(int64_t bytes) { return grown(terms, size_t(bytes)); }
  int64_t stagedBytes() const { return int64_t(staged.bytes); }
  char *staging(int64_t bytes) {
    return grown(staged, size_t(std::max<int64_t>(bytes, 1)));
  }
  /// The most dimensions of these: what kernels take (kernels/cpu/Kernels.h).
  static constexpr size_t maxCopyRank = 8;

  /// Runs `body` on the host, with the buffers of the call in its memory:
  /// copies in row-major order of the inputs before, and of the outputs behind
  /// it.
  Error onHost(Descriptor &call, FunctionRef<Error()> body);

private:
  DeviceQueue(const cprt_device &device, void *queue,
              const cprt_allocator *allocator)
      : device(device), queue(queue), allocator(allocator) {}
  /// What libraries of the device call it; null where they do not.
  void *stream() const {
    return device.stream ? device.stream(queue) : nullptr;
  }
  Error settle() const { return settles ? settles() : Error(); }
  /// That this is not asked of it within a recording.
  Error checkRuns(const char *what) const;
  Error order(cprt_status (*by)(void *queue, void *stream), void *stream);
  Error textOf(cprt_status status) const;
  Error copy(const Descriptor &call, const Buffer &to, const Buffer &from);
  /// Memory of the host and of the device that mirrors use; null where there is
  /// not that much.
  char *hostMirror(size_t bytes);

  /// Memory of the device that grows to what was last asked of it.
  struct Area {
    void *memory = nullptr;
    size_t bytes = 0;
  };
  char *grown(Area &area, size_t bytes);

  const cprt_device &device;
  void *const queue;
  const cprt_allocator *const allocator;
  std::unordered_map<const void *, void *> constants;
  std::function<Error()> settles;
  bool isRecording = false;
  void releaseMirror();

  char *mirror = nullptr;
  size_t mirrorBytes = 0;
  /// Of buffers with gaps, of blocks that come from the host, of sums, and of
  /// what calls stage.
  Area packed, blocks, terms, staged;
};

/// Copies on a device, or on the host where `queue` is null.
inline Error copyMapped(DeviceQueue *queue, const Descriptor &call,
                        const Buffer &to, const Buffer &from,
                        const List<DimMap> &maps) {
  if (queue)
    return queue->copyMapped(call, to, from, maps);
  copyMapped(to, from, maps);
  return std::nullopt;
}

inline Error fill(DeviceQueue *queue, const Descriptor &call, const Buffer &to,
                  const void *element) {
  if (queue)
    return queue->fill(call, to, element);
  fill(to, element);
  return std::nullopt;
}

inline Error fillZeros(DeviceQueue *queue, const Descriptor &call,
                       const Buffer &to) {
  if (queue)
    return queue->fillZeros(call, to);
  fillZeros(to);
  return std::nullopt;
}

inline Error copyBytes(DeviceQueue *queue, const Descriptor &call, void *to,
                       const void *from, int64_t bytes) {
  if (queue)
    return queue->copyBytes(call, to, from, bytes);
  if (bytes && to != from)
    std::memcpy(to, from, size_t(bytes));
  return std::nullopt;
}

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_DEVICEQUEUE_H
