//===- Stream.h - What runs later, in its order --------------- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_STREAM_H
#define CP_UNITTESTS_RUNTIME_STREAM_H

#include "cp/Runtime/cprt_device.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace cp::test {

/// What the streams of a device share.
struct Streams {
  explicit Streams(uint64_t seed) : random(seed) {}

  /// Around all that they share.
  mutable std::mutex mutex;
  std::mt19937_64 random;
};

/// A thread that does what it is given, one after the other, and is late by
/// delays that are drawn.
class Stream {
public:
  explicit Stream(Streams &all);
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  /// When all that it was given has run.
  ~Stream();

  void add(std::function<void()> work);
  void drain();

  /// What it is given from one to the other it does not do, but gives back, as
  /// often as it is to be done.
  using Works = std::vector<std::function<void()>>;
  void beginRecording() { recorded = std::make_unique<Works>(); }
  std::unique_ptr<Works> endRecording() { return std::move(recorded); }
  bool isRecording() const { return recorded != nullptr; }

  Streams &shared() const { return all; }

private:
  void run();

  Streams &all;
  std::condition_variable changed;
  std::deque<std::function<void()>> works;
  /// Of the thread that gives it work.
  std::unique_ptr<Works> recorded;
  bool isOver = false, isBusy = false;
  std::thread thread;
};

/// What a stream has been given so far; may be marked again.
class StreamEvent {
public:
  explicit StreamEvent(Streams &all) : all(all) {}
  StreamEvent(const StreamEvent &) = delete;
  StreamEvent &operator=(const StreamEvent &) = delete;

  void record(Stream &stream);
  /// What the stream is given from now on comes behind what is marked now.
  void hold(Stream &stream) const;
  bool isDone() const;

private:
  struct Ticket {
    bool isDone = false;
    std::condition_variable changed;
  };
  std::shared_ptr<Ticket> current() const;

  Streams &all;
  std::shared_ptr<Ticket> ticket;
};

/// The functions of a device that are about the order of its queues, each of
/// which is a Stream for the device's users.
void describeOrder(cprt_device &device);
/// Those that keep what a queue is given.
using Recorded = std::shared_ptr<const Stream::Works>;
void describeRecording(cprt_device &device);
/// Of recordings, that have not been discarded.
int64_t numRecordings();

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_STREAM_H
