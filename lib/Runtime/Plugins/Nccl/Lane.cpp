//===- Lane.cpp - Messages in one order -----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lane.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace cp::nccl;

cprt_status Faults::say(cprt_status status, std::string text) {
  last = std::move(text);
  return status;
}

static cprt_status statusOf(Result result) {
  switch (result) {
  case InvalidArgument:
  case InvalidUsage:
    return CPRT_UNSUPPORTED;
  case UnhandledCudaError:
    return CPRT_DEVICE_FAILED;
  default:
    return CPRT_PEER_FAILED;
  }
}

cprt_status Faults::check(const Api &api, Result result, const char *call,
                          Comm comm) {
  if (result == Success || result == InProgress)
    return CPRT_OK;
  std::string text = std::string(call) + ": " + api.getErrorString(result);
  const char *more = api.getLastError(comm);
  if (more && *more)
    text += std::string(" (") + more + ")";
  if (result == InvalidUsage)
    text += "; each rank needs a card of its own, see NCCL_DEBUG=WARN";
  return say(statusOf(result), std::move(text));
}

cprt_status Faults::check(cprt_status status, const cprt_device &device,
                          void *queue) {
  return status == CPRT_OK ? CPRT_OK : say(status, device.error(queue));
}

size_t cp::nccl::laneOf(const cprt_message &message, int64_t rank) {
  size_t order = size_t(message.tag) % 4;
  if (order >= 2)
    return 0;
  int64_t from = message.is_receive ? message.peer : rank;
  int64_t to = message.is_receive ? rank : message.peer;
  return 1 + 2 * order + (from < to);
}

cprt_status Lane::open(const Api &with, const cprt_device &where, void *beside,
                       Faults &noted) {
  api = &with;
  device = &where;
  faults = &noted;
  return faults->check(device->open_beside(beside, &queue), *device, beside);
}

cprt_status Lane::start(UniqueId id, int rank, int size) {
  Config config;
  Result result = api->commInitRankConfig(&comm, size, id, rank, &config);
  return faults->check(*api, result, "ncclCommInitRankConfig", comm);
}

cprt_status Lane::split(const Lane &from, int rank) {
  Config config;
  Result result = api->commSplit(from.comm, 0, rank, &comm, &config);
  return faults->check(*api, result, "ncclCommSplit", from.comm);
}

cprt_status Lane::isReady(bool &ready) {
  Result state = Success;
  Result result = api->commGetAsyncError(comm, &state);
  ready = result == Success && state == Success;
  if (result != Success)
    return faults->check(*api, result, "ncclCommGetAsyncError", comm);
  return faults->check(*api, state, "NCCL", comm);
}

bool Lane::remove(const Message *message) {
  auto place = std::find(pending.begin(), pending.end(), message);
  if (place == pending.end())
    return false;
  pending.erase(place);
  return true;
}

Result Lane::start(const Message &message, void *data, int64_t bytes,
                   void *stream) {
  int peer = int(message.asked.peer);
  return message.asked.is_receive
             ? api->receive(data, size_t(bytes), bytesType, peer, comm, stream)
             : api->send(data, size_t(bytes), bytesType, peer, comm, stream);
}

cprt_status Lane::holdFor(void *event) {
  return faults->check(device->wait_for(queue, event), *device, queue);
}

cprt_status Lane::launch(void *copied) {
  if (copied)
    if (cprt_status status = holdFor(copied))
      return status;
  void *stream = device->stream(queue);
  auto batch = std::make_shared<Batch>(*device, queue);
  Result worst = api->groupStart();
  auto add = [&](const Message &message, void *data, int64_t bytes) {
    Result result = start(message, data, bytes, stream);
    if (result != Success && result != InProgress)
      worst = result;
  };
  for (Message *message : pending) {
    add(*message, message->envelope->place(message->number), sizeof(Header));
    add(*message, message->data(), message->asked.bytes);
    message->batch = batch;
  }
  pending.clear();
  launching = std::move(batch);
  Result result = api->groupEnd();
  return faults->check(*api, worst == Success ? result : worst, "ncclGroupEnd",
                       comm);
}

cprt_status Lane::carryOn(void *copied) {
  bool ready = false;
  if (cprt_status status = isReady(ready); status != CPRT_OK || !ready)
    return status;
  // A mark before NCCL has launched its work would not be behind it.
  if (launching) {
    cprt_status status =
        faults->check(launching->mark.record(), *device, queue);
    launching->isMarked = status == CPRT_OK;
    launching.reset();
    if (status != CPRT_OK)
      return status;
  }
  if (pending.empty())
    return CPRT_OK;
  if (cprt_status status = launch(copied); status != CPRT_OK)
    return status;
  // Mostly it has done so when it returns.
  return isReady(ready) == CPRT_OK && ready ? carryOn(copied) : CPRT_OK;
}

void Lane::close() {
  launching.reset();
  if (queue)
    device->close(queue);
  queue = nullptr;
}

void cp::nccl::end(const Api &api, Comm comm, bool failed) {
  constexpr std::chrono::microseconds nap{100};
  Result state = failed ? RemoteError : api.commFinalize(comm);
  while (state == InProgress) {
    std::this_thread::sleep_for(nap);
    if (api.commGetAsyncError(comm, &state) != Success)
      state = RemoteError;
  }
  (void)(state == Success ? api.commDestroy(comm) : api.commAbort(comm));
}
