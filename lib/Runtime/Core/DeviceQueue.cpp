//===- DeviceQueue.cpp - One rank's place on a device ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceQueue.h"

#include "Copy.h"

#include <algorithm>
#include <new>

using namespace cp::runtime;

Error DeviceQueue::open(const cprt_device &device, int64_t number,
                        const cprt_allocator *allocator,
                        std::unique_ptr<DeviceQueue> &made) {
  void *queue = nullptr;
  char message[512] = "";
  cprt_status status =
      device.open(device.state, number, &queue, message, sizeof message);
  if (status != CPRT_OK)
    return Failure{status, message};
  made.reset(new DeviceQueue(device, queue, allocator));
  return std::nullopt;
}

DeviceQueue::~DeviceQueue() {
  releaseMirror();
  for (const Area *area : {&packed, &blocks, &terms, &staged})
    if (area->memory)
      release(area->memory);
  for (const auto &[value, there] : constants)
    release(there);
  device.close(queue);
}

void *DeviceQueue::allocate(int64_t bytes) {
  // It would be the recording's.
  if (isRecording)
    return nullptr;
  return allocator ? allocator->allocate(allocator->state, bytes, stream())
                   : device.allocate(queue, bytes);
}

void DeviceQueue::release(void *pointer) {
  if (allocator)
    allocator->release(allocator->state, pointer, stream());
  else
    device.release(queue, pointer);
}

Error DeviceQueue::textOf(cprt_status status) const {
  if (status == CPRT_OK)
    return std::nullopt;
  return Failure{status, std::string(device.name) + ": " + device.error(queue)};
}

Error DeviceQueue::run(const Descriptor &call, const char *op, DType dtype,
                       const kernels::Call &decoded) {
  List<cprt_buffer> buffers;
  auto add = [&](const Buffer &buffer) {
    buffers.push_back({buffer.data, cprt_dtype(buffer.dtype), buffer.rank,
                       buffer.sizes, buffer.strides});
  };
  for (size_t i = 0; i < decoded.numIns; ++i)
    add(decoded.ins[i]);
  for (size_t i = 0; i < decoded.numOuts; ++i)
    add(decoded.outs[i]);
  cprt_device_call described = {op,
                                cprt_dtype(dtype),
                                buffers.data(),
                                decoded.numIns,
                                buffers.data() + decoded.numIns,
                                decoded.numOuts,
                                decoded.attrs,
                                decoded.numAttrs};
  Error failure = textOf(device.run(queue, &described));
  if (failure && failure->status == CPRT_INVALID_ARGUMENT)
    failure->message += "; found " + call.describe();
  if (failure)
    failure->message = call.title() + ": " + failure->message;
  return failure;
}

Error DeviceQueue::launch(const cprt_kernel &kernel, void *const *buffers) {
  return textOf(device.launch(queue, &kernel, buffers));
}

Error DeviceQueue::checkRuns(const char *what) const {
  if (!isRecording)
    return std::nullopt;
  return Failure{CPRT_UNSUPPORTED, std::string(device.name) + ": " + what +
                                       " in the midst of a recording; run "
                                       "without one"};
}

Error DeviceQueue::upload(void *to, const void *from, int64_t bytes) {
  if (Error failure = checkRuns("a copy from the host"))
    return failure;
  return bytes ? textOf(device.upload(queue, to, from, bytes)) : std::nullopt;
}

/// What a rank fails in ends sooner than the device does: nothing is written to
/// the host's memory behind it.
Error DeviceQueue::download(void *to, const void *from, int64_t bytes) {
  if (Error failure = checkRuns("a copy to the host"))
    return failure;
  if (Error failure = settle())
    return failure;
  return bytes ? textOf(device.download(queue, to, from, bytes)) : std::nullopt;
}

Error DeviceQueue::synchronize() {
  if (Error failure = checkRuns("a wait of the host"))
    return failure;
  if (Error failure = settle())
    return failure;
  return textOf(device.synchronize(queue));
}

Error DeviceQueue::openBeside(std::unique_ptr<DeviceQueue> &made) {
  void *beside = nullptr;
  if (!opensBeside())
    return Failure{CPRT_UNSUPPORTED,
                   std::string(device.name) + " has one queue a rank"};
  if (Error failure = textOf(device.open_beside(queue, &beside)))
    return failure;
  made.reset(new DeviceQueue(device, beside, allocator));
  made->settleBefore(settles);
  return std::nullopt;
}

Error DeviceQueue::beginRecording() {
  Error failure = textOf(device.begin_recording(queue));
  isRecording = !failure;
  return failure;
}

Error DeviceQueue::endRecording(void *&recording) {
  isRecording = false;
  return textOf(device.end_recording(queue, &recording));
}

Error DeviceQueue::replay(void *recording) {
  return textOf(device.replay(queue, recording));
}

Error DeviceQueue::record(void *&event) {
  if (Error failure = checkRuns("a mark"))
    return failure;
  return textOf(device.record(queue, &event));
}

Error DeviceQueue::waitFor(void *event) {
  if (Error failure = checkRuns("a wait for another queue"))
    return failure;
  return textOf(device.wait_for(queue, event));
}

Error DeviceQueue::order(cprt_status (*by)(void *queue, void *stream),
                         void *stream) {
  if (Error failure = checkRuns("order with a stream"))
    return failure;
  if (!by)
    return Failure{CPRT_UNSUPPORTED,
                   std::string(device.name) +
                       " has no order with streams of others; call "
                       "cprt_synchronize, and wait for the stream"};
  return textOf(by(queue, stream));
}

Error DeviceQueue::runAfter(void *stream) {
  return order(device.run_after, stream);
}

Error DeviceQueue::runBefore(void *stream) {
  return order(device.run_before, stream);
}

void *DeviceQueue::constant(const void *value, int64_t bytes, Error &failure) {
  auto [entry, isNew] = constants.try_emplace(value, nullptr);
  if (!isNew)
    return entry->second;
  if (failure = checkRuns("a constant that is new"); failure) {
    constants.erase(entry);
    return nullptr;
  }
  void *there = allocate(bytes);
  if (!there)
    failure =
        Failure{CPRT_OUT_OF_MEMORY, std::string(device.name) + ": no " +
                                        std::to_string(bytes) + " bytes left"};
  else
    failure = upload(there, value, bytes);
  if (failure)
    constants.erase(value);
  else
    entry->second = there;
  return failure ? nullptr : there;
}

//===----------------------------------------------------------------------===//
// Mirrors
//===----------------------------------------------------------------------===//

void DeviceQueue::releaseMirror() {
  if (mirror && device.release_host)
    device.release_host(queue, mirror);
  else
    delete[] mirror;
  mirror = nullptr;
}

/// What is uploaded from it may be read until the next synchronize, behind
/// which it is written again.
char *DeviceQueue::hostMirror(size_t bytes) {
  if (bytes <= mirrorBytes && mirror)
    return mirror;
  releaseMirror();
  mirror = static_cast<char *>(device.allocate_host
                                   ? device.allocate_host(queue, int64_t(bytes))
                                   : new (std::nothrow) char[bytes]);
  mirrorBytes = mirror ? bytes : 0;
  return mirror;
}

char *DeviceQueue::grown(Area &area, size_t bytes) {
  if (bytes > area.bytes) {
    // What is released then would be the recording's.
    if (isRecording)
      return nullptr;
    if (area.memory)
      release(area.memory);
    area.memory = allocate(int64_t(bytes));
    area.bytes = area.memory ? bytes : 0;
  }
  return static_cast<char *>(area.memory);
}

Error DeviceQueue::copy(const Descriptor &call, const Buffer &to,
                        const Buffer &from) {
  return run(call, "copy", from.dtype, {&from, 1, &to, 1, nullptr, 0});
}

namespace {
/// A buffer of a call, and where it is meanwhile.
struct Mirror {
  Buffer there;
  std::array<int64_t, maxRank> strides;
  bool isDense = true;
  int64_t bytes = 0;
  /// From the begin of all mirrors, and of those of buffers that are not dense.
  size_t place = 0, packedPlace = 0;

  Buffer at(char *memory) const {
    return {memory, there.dtype, there.rank, there.sizes, strides.data()};
  }
};
} // namespace

static Mirror mirrorOf(const Buffer &buffer) {
  Mirror mirror = {buffer, {}};
  mirror.bytes = numBytes(buffer);
  int64_t stride = 1;
  for (int dim = buffer.rank; dim-- > 0;) {
    mirror.strides[size_t(dim)] = stride;
    mirror.isDense &= buffer.sizes[dim] == 1 || buffer.strides[dim] == stride;
    stride *= buffer.sizes[dim];
  }
  mirror.isDense |= mirror.bytes == 0;
  return mirror;
}

static size_t aligned(int64_t bytes) {
  constexpr size_t alignment = 256;
  return (size_t(bytes) + alignment - 1) / alignment * alignment;
}

Error DeviceQueue::runFromHost(const Descriptor &call, const char *op,
                               DType dtype, const kernels::Call &decoded) {
  List<Buffer> here, there;
  for (size_t i = 0; i < decoded.numIns; ++i)
    here.push_back(decoded.ins[i]);
  for (size_t i = 0; i < decoded.numOuts; ++i)
    here.push_back(decoded.outs[i]);
  size_t bytes = 0;
  for (const Buffer &buffer : here)
    bytes += aligned(numBytes(buffer));
  char *memory = grown(blocks, bytes);
  if (bytes && !memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no " + std::to_string(bytes) +
                       " bytes left on the device for a block; use more ranks"};
  for (const Buffer &buffer : here) {
    there.push_back(buffer);
    if (buffer.dtype == DType::Absent)
      continue;
    there.back().data = memory;
    memory += aligned(numBytes(buffer));
  }
  for (size_t i = 0; i < decoded.numIns; ++i)
    if (Error failure = upload(there[i].data, here[i].data, numBytes(here[i])))
      return failure;
  kernels::Call onDevice = decoded;
  onDevice.ins = there.data();
  onDevice.outs = there.data() + decoded.numIns;
  if (Error failure = run(call, op, dtype, onDevice))
    return failure;
  for (size_t i = decoded.numIns; i < here.size(); ++i)
    if (Error failure =
            download(here[i].data, there[i].data, numBytes(here[i])))
      return failure;
  return synchronize();
}

Error DeviceQueue::onHost(Descriptor &call, FunctionRef<Error()> body) {
  size_t count = call.numIns() + call.numOuts();
  List<Mirror> mirrors;
  size_t bytes = 0, packedBytes = 0;
  for (size_t i = 0; i < count; ++i) {
    mirrors.push_back(mirrorOf(call.allBuffers()[i]));
    Mirror &mirror = mirrors.back();
    mirror.place = bytes;
    // Of buffers of no bytes too each has a place of its own.
    bytes += aligned(std::max<int64_t>(mirror.bytes, 1));
    mirror.packedPlace = packedBytes;
    packedBytes += mirror.isDense ? 0 : aligned(mirror.bytes);
  }
  // One that is about to grow may still be read.
  if (bytes > mirrorBytes)
    if (Error failure = synchronize())
      return failure;
  char *here = hostMirror(bytes), *there = grown(packed, packedBytes);
  if ((bytes && !here) || (packedBytes && !there))
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no " + std::to_string(bytes) +
                       " bytes left to bring its tensors to the host"};
  for (size_t i = 0; i < call.numIns(); ++i) {
    const Mirror &mirror = mirrors[i];
    const void *from = mirror.there.data;
    if (!mirror.isDense) {
      Buffer dense = mirror.at(there + mirror.packedPlace);
      from = dense.data;
      if (Error failure = copy(call, dense, mirror.there))
        return failure;
    }
    if (Error failure = download(here + mirror.place, from, mirror.bytes))
      return failure;
  }
  if (Error failure = synchronize())
    return failure;
  for (size_t i = 0; i < count; ++i)
    if (mirrors[i].there.dtype != DType::Absent)
      call.place(i, here + mirrors[i].place, mirrors[i].strides.data());
  Error failure = body();
  for (size_t i = 0; i < count; ++i)
    call.place(i, mirrors[i].there.data, mirrors[i].there.strides);
  if (failure)
    return failure;
  for (size_t i = call.numIns(); i < count; ++i) {
    const Mirror &mirror = mirrors[i];
    char *to = mirror.isDense ? static_cast<char *>(mirror.there.data)
                              : there + mirror.packedPlace;
    if (Error wrong = upload(to, here + mirror.place, mirror.bytes))
      return wrong;
    if (!mirror.isDense)
      if (Error wrong = copy(call, mirror.there, mirror.at(to)))
        return wrong;
  }
  return std::nullopt;
}
