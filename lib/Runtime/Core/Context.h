//===- Context.h - One rank's place in a world ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_CONTEXT_H
#define CP_LIB_RUNTIME_CONTEXT_H

#include "Counters.h"
#include "Descriptor.h"
#include "DeviceQueue.h"
#include "History.h"
#include "Memory.h"
#include "PackedPositions.h"
#include "Recording.h"

#include <functional>
#include <list>
#include <map>
#include <memory>

namespace cp::runtime {
class Courier;
class SideQueue;
class Entry;
} // namespace cp::runtime

/// Everything but `status`, `message` and `entered` belongs to the thread
/// that is inside a program call.
struct cprt_context {
  /// Without a history it has one of its own.
  cprt_context(cprt_world &world, int64_t rank,
               std::shared_ptr<cp::runtime::History> history = nullptr);
  ~cprt_context();

  /// Where this rank's memory comes from and, in a world with a device, its
  /// queue there, on the `number`th card, of which there may be fewer.
  cp::runtime::Error openQueue(int64_t number);
  void takeQueue(std::unique_ptr<cp::runtime::DeviceQueue> opened);

  /// Keeps the first failure of this rank, and wakes every other rank.
  void fail(cprt_status status, std::string text);
  bool hasFailed() const {
    return status.load(std::memory_order_acquire) != CPRT_OK;
  }

  cprt_world &world;
  const int64_t rank;

  std::atomic<cprt_status> status{CPRT_OK};
  /// Written once, before `status`.
  std::string message;
  /// The program call under way, if there is one.
  std::atomic<const cp::runtime::Entry *> entered{nullptr};

  cp::runtime::Counters counters;
  /// A courier's own context has that of its rank.
  const std::shared_ptr<cp::runtime::History> history;
  /// What the last call has there; below 0 for nothing.
  int64_t recorded = -1;
  /// In a world with a device.
  std::unique_ptr<cp::runtime::DeviceQueue> queue;
  /// What cprt_require has looked through.
  const char *required = nullptr;
  /// Of a call under way: its buffers have been brought to the host.
  bool isOnHost = false;
  /// The device that the buffers of a call under way are on; null for the host.
  cp::runtime::DeviceQueue *deviceOfCall() const {
    return isOnHost ? nullptr : queue.get();
  }
  cp::runtime::Memory memory;
  /// What cprt_device_alloc has given.
  cp::runtime::Memory handed;
  /// What cprt_arena has given; of `memory`.
  void *arena = nullptr;
  int64_t arenaBytes = 0;
  /// The current call; kept to reuse its storage.
  cp::runtime::Descriptor call;
  std::map<std::vector<int>, cp::runtime::Group> groups;
  std::map<std::vector<int64_t>, cp::runtime::Positions> positions;
  std::list<cp::runtime::PackedPositions> packed;
  /// By local op and element type; found on first use.
  std::map<std::pair<const char *, cp::runtime::DType>, cp::kernels::KernelFn>
      kernels;
  /// Of a context for deferred calls alone; and where another thread makes the
  /// rank's other calls.
  bool isDeferred = false, isBackground = false;
  /// Who makes deferred calls, one or the other; made for the first.
  std::unique_ptr<cp::runtime::Courier> courier;
  std::unique_ptr<cp::runtime::SideQueue> side;
  /// Of programs that cprt_run_recorded has called, the last one first; and the
  /// one under way, or null.
  std::list<cp::runtime::Recording> recordings;
  cp::runtime::Recording *recording = nullptr;
};

namespace cp::runtime {

using Context = cprt_context;

/// Memory that a call stages, where its buffers are: of the device or of the
/// host, until the next call of the context. Null where there is not that much.
inline char *stagingFor(Context &context, int64_t bytes) {
  DeviceQueue *device = context.deviceOfCall();
  if (!device)
    return context.memory.staging(bytes);
  if (bytes > device->stagedBytes())
    context.memory.countAllocations(1);
  return device->staging(bytes);
}

/// Fails a context without the heap, of which there is none left.
void failOutOfMemory(Context &context);

/// A program call's stay in its context. A second one at the same time fails
/// the context and must leave it alone: all that it holds is the first one's.
/// Plain loads and stores, since calls are many: two that come in within the
/// same few instructions find out when they leave.
class Entry {
public:
  /// `call` is the name of the program call.
  Entry(Context &context, const char *call)
      : context(context), call(call),
        isFirst(!context.entered.load(std::memory_order_acquire)) {
    if (isFirst)
      context.entered.store(this, std::memory_order_relaxed);
    else
      refuse();
  }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;
  ~Entry() {
    if (!isFirst)
      return;
    if (context.entered.load(std::memory_order_relaxed) == this)
      context.entered.store(nullptr, std::memory_order_release);
    else
      refuse();
  }
  explicit operator bool() const { return isFirst; }

private:
  /// Fails the context.
  void refuse();

  Context &context;
  const char *const call;
  const bool isFirst;
};

/// What one operation does with its decoded call.
using OpBody = std::function<Error(Context &context, const Descriptor &call)>;

/// An operation's body, on buffers of the device: where that can do it, and
/// otherwise on the host, which has copies then.
Error runOnDevice(Context &context, Descriptor &call, const OpBody &body);

/// The frame of every program call: returns at once after an earlier failure,
/// decodes the descriptor, checks it by the signature, runs `body`, and keeps
/// what goes wrong, an exhausted heap included.
void runOp(Context *context, const cprt_stream *stream, const int64_t *desc,
           void *const *buffers, const cprt_signature &signature,
           const OpBody &body);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_CONTEXT_H
