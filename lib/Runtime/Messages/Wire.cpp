//===- Wire.cpp - Messages that travel while a rank works -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

#include <exception>

using namespace cp::runtime;

/// Between two times that a transport is asked to carry on: an engine moves
/// some hundred kilobytes at a time, and the rank wants its processor.
static constexpr std::chrono::microseconds pause{50};

cprt_status Wire::post(const cprt_message *messages, int64_t count,
                       void **requests, void *queue, std::string &text) {
  std::lock_guard<std::mutex> lock(calls);
  cprt_status status =
      queue ? transport.post_on_device(transport.state, queue, messages, count,
                                       requests)
            : transport.post(transport.state, messages, count, requests);
  if (status != CPRT_OK)
    text = transport.error(transport.state);
  return status;
}

cprt_status Wire::test(void **request, bool &isDone, std::string &text) {
  std::lock_guard<std::mutex> lock(calls);
  int32_t done = 0;
  cprt_status status = transport.test(transport.state, request, &done);
  if (status != CPRT_OK)
    text = transport.error(transport.state);
  isDone = done != 0;
  return status;
}

cprt_status Wire::follow(void *queue, void *request, bool &isDone,
                         std::string &text) {
  std::lock_guard<std::mutex> lock(calls);
  int32_t done = 0;
  cprt_status status = transport.follow(transport.state, queue, request, &done);
  if (status != CPRT_OK)
    text = transport.error(transport.state);
  isDone = done != 0;
  return status;
}

void Wire::cancel(void *request) {
  std::lock_guard<std::mutex> lock(calls);
  transport.cancel(transport.state, request);
}

void Wire::carryOn() {
  if (!transport.progress)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  isWorking = true;
  if (!thread.joinable() && !isOver) {
    try {
      thread = std::thread([this] { run(); });
    } catch (const std::exception &) {
      isOver = true;
    }
  }
  changed.notify_one();
}

void Wire::rest() {
  if (!transport.progress)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  isWorking = false;
}

void Wire::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
}

void Wire::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isOver) {
    if (!isWorking) {
      changed.wait(lock);
      continue;
    }
    lock.unlock();
    {
      std::lock_guard<std::mutex> call(calls);
      transport.progress(transport.state);
    }
    std::this_thread::sleep_for(pause);
    lock.lock();
  }
}
