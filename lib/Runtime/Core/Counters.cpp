//===- Counters.cpp - Bytes and calls of one rank -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Courier.h"
#include "SideQueue.h"

using namespace cp::runtime;

size_t Counters::read(cprt_counter *out, size_t capacity) const {
  size_t count = 0;
  for (const auto &[key, counter] : counters) {
    int64_t bytesSent = counter.bytesSent.load(std::memory_order_relaxed);
    if (counter.calls == 0 && bytesSent == 0)
      continue;
    if (out && count < capacity)
      out[count] = {key.first.data(), key.second, counter.calls, bytesSent,
                    1e-9 * double(counter.exposedNanoseconds.load(
                               std::memory_order_relaxed))};
    ++count;
  }
  return count;
}

void Counters::add(const cprt_counter &moved) {
  Counter &counter = at(moved.op, moved.axes);
  counter.calls += moved.calls;
  counter.bytesSent.fetch_add(moved.bytes_sent, std::memory_order_relaxed);
  counter.exposedNanoseconds.fetch_add(int64_t(1e9 * moved.exposed_seconds),
                                       std::memory_order_relaxed);
}

std::vector<cprt_counter> Counters::take() {
  std::vector<cprt_counter> taken(counters.size());
  taken.resize(read(taken.data(), taken.size()));
  clear();
  return taken;
}

void Counters::clear() {
  for (auto &[key, counter] : counters) {
    counter.calls = 0;
    counter.bytesSent.store(0, std::memory_order_relaxed);
    counter.exposedNanoseconds.store(0, std::memory_order_relaxed);
  }
}

extern "C" size_t cprt_context_counters(const cprt_context *context,
                                        cprt_counter *out, size_t capacity) {
  return context ? context->counters.read(out, capacity) : 0;
}

extern "C" void cprt_context_reset_counters(cprt_context *context) {
  if (!context)
    return;
  context->counters.clear();
  context->memory.resetStatistics();
  if (context->courier)
    context->courier->resetStatistics();
  if (context->side)
    context->side->resetStatistics();
}
