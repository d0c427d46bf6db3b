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
  records[size_t(record.number) % records.size()] = record;
  return record.number;
}

void History::end(int64_t number, Clock::duration taken,
                  Clock::duration exposed, int64_t bytesSent) {
  std::lock_guard<std::mutex> lock(mutex);
  cprt_record *record = find(number);
  if (!record)
    return;
  record->seconds = secondsOf(taken);
  record->exposed_seconds = secondsOf(exposed);
  record->bytes_sent = bytesSent;
}

void History::markUnfinished(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  if (cprt_record *record = find(number))
    record->seconds = -1;
}

void History::expose(int64_t number, double seconds) {
  std::lock_guard<std::mutex> lock(mutex);
  if (cprt_record *record = find(number))
    record->exposed_seconds = seconds;
}

cprt_record *History::find(int64_t number) {
  if (number < 0)
    return nullptr;
  cprt_record &record = records[size_t(number) % records.size()];
  return record.number == number ? &record : nullptr;
}

size_t History::read(cprt_record *out, size_t capacity) const {
  std::lock_guard<std::mutex> lock(mutex);
  size_t kept = std::min(size_t(count), records.size());
  size_t first = size_t(count) - (out ? std::min(kept, capacity) : 0);
  for (size_t number = first; number < size_t(count); ++number)
    out[number - first] = records[number % records.size()];
  return kept;
}

extern "C" size_t cprt_context_history(const cprt_context *context,
                                       cprt_record *out, size_t capacity) {
  return context ? context->history->read(out, capacity) : 0;
}
