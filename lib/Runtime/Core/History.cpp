//===- History.cpp - The last collectives of one rank ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "History.h"

#include "Context.h"

#include <algorithm>

using namespace cp::runtime;

static double secondsOf(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

int64_t History::begin(cprt_record record, Clock::time_point start) {
  record.start = secondsOf(start.time_since_epoch());
  record.seconds = -1;
  std::lock_guard<std::mutex> lock(mutex);
  record.number = count++;
  at(record.number) = record;
  return record.number;
}

void History::end(int64_t number, Clock::duration taken,
                  Clock::duration exposed, int64_t bytesSent) {
  std::lock_guard<std::mutex> lock(mutex);
  cprt_record &record = at(number);
  if (record.number != number)
    return;
  record.seconds = secondsOf(taken);
  record.exposed_seconds = secondsOf(exposed);
  record.bytes_sent = bytesSent;
}

void History::fail(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  if (number >= 0 && at(number).number == number)
    at(number).seconds = -1;
}

size_t History::read(cprt_record *out, size_t capacity) const {
  std::lock_guard<std::mutex> lock(mutex);
  size_t kept = std::min(size_t(count), records.size());
  size_t first = size_t(count) - std::min(kept, capacity);
  for (size_t number = first; number < size_t(count); ++number)
    out[number - first] = records[number % records.size()];
  return kept;
}

extern "C" size_t cprt_context_history(const cprt_context *context,
                                       cprt_record *out, size_t capacity) {
  return context ? context->history->read(out, capacity) : 0;
}
