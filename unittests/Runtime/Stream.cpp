//===- Stream.cpp - What runs later, in its order -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stream.h"

#include <atomic>
#include <chrono>
#include <cstdlib>

using namespace cp::test;

Stream::Stream(Streams &all) : all(all), thread([this] { run(); }) {}

Stream::~Stream() {
  // A card's would be lost with what captures it.
  if (recorded)
    std::abort();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    isOver = true;
  }
  changed.notify_all();
  thread.join();
}

void Stream::add(std::function<void()> work) {
  if (recorded) {
    recorded->push_back(std::move(work));
    return;
  }
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    works.push_back(std::move(work));
  }
  changed.notify_all();
}

void Stream::drain() {
  std::unique_lock<std::mutex> lock(all.mutex);
  changed.wait(lock, [&] { return works.empty() && !isBusy; });
}

void Stream::run() {
  constexpr uint64_t rarity = 32, mostMicroseconds = 60;
  std::unique_lock<std::mutex> lock(all.mutex);
  for (;;) {
    changed.wait(lock, [&] { return !works.empty() || isOver; });
    if (works.empty())
      return;
    std::function<void()> work = std::move(works.front());
    works.pop_front();
    isBusy = true;
    uint64_t drawn = all.random();
    lock.unlock();
    if (drawn % rarity == 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(drawn / rarity % mostMicroseconds));
    work();
    // What it holds may be a stream's.
    work = nullptr;
    lock.lock();
    isBusy = false;
    if (works.empty())
      changed.notify_all();
  }
}

std::shared_ptr<StreamEvent::Ticket> StreamEvent::current() const {
  std::lock_guard<std::mutex> lock(all.mutex);
  return ticket;
}

void StreamEvent::record(Stream &stream) {
  auto made = std::make_shared<Ticket>();
  stream.add([&all = all, made] {
    std::lock_guard<std::mutex> lock(all.mutex);
    made->isDone = true;
    made->changed.notify_all();
  });
  std::lock_guard<std::mutex> lock(all.mutex);
  ticket = made;
}

void StreamEvent::hold(Stream &stream) const {
  stream.add([&all = all, awaited = current()] {
    std::unique_lock<std::mutex> lock(all.mutex);
    awaited->changed.wait(lock, [&] { return awaited->isDone; });
  });
}

bool StreamEvent::isDone() const {
  std::lock_guard<std::mutex> lock(all.mutex);
  return ticket->isDone;
}

static Stream &streamOf(void *queue) { return *static_cast<Stream *>(queue); }
static StreamEvent &eventOf(void *event) {
  return *static_cast<StreamEvent *>(event);
}

/// What `first` has been given so far comes before what `then` is given next.
static cprt_status order(Stream &first, Stream &then) {
  StreamEvent event(first.shared());
  event.record(first);
  event.hold(then);
  return CPRT_OK;
}

static std::atomic<int64_t> recordings = 0;
int64_t cp::test::numRecordings() { return recordings; }

void cp::test::describeRecording(cprt_device &device) {
  device.begin_recording = [](void *queue) {
    streamOf(queue).beginRecording();
    return CPRT_OK;
  };
  // What is under way holds it too.
  device.end_recording = [](void *queue, void **recording) {
    ++recordings;
    *recording = new Recorded(streamOf(queue).endRecording());
    return CPRT_OK;
  };
  device.replay = [](void *queue, void *recording) {
    streamOf(queue).add([works = *static_cast<Recorded *>(recording)] {
      for (const std::function<void()> &work : *works)
        work();
    });
    return CPRT_OK;
  };
  device.discard = [](void *, void *recording) {
    --recordings;
    delete static_cast<Recorded *>(recording);
  };
}

void cp::test::describeOrder(cprt_device &device) {
  device.stream = [](void *queue) { return queue; };
  device.record = [](void *queue, void **event) {
    if (!*event)
      *event = new StreamEvent(streamOf(queue).shared());
    eventOf(*event).record(streamOf(queue));
    return CPRT_OK;
  };
  device.wait_for = [](void *queue, void *event) {
    eventOf(event).hold(streamOf(queue));
    return CPRT_OK;
  };
  device.query = [](void *, void *event, int32_t *done) {
    *done = eventOf(event).isDone();
    return CPRT_OK;
  };
  device.forget = [](void *, void *event) { delete &eventOf(event); };
  device.run_after = [](void *queue, void *stream) {
    return order(streamOf(stream), streamOf(queue));
  };
  device.run_before = [](void *queue, void *stream) {
    return order(streamOf(queue), streamOf(stream));
  };
}
