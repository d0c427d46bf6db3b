//===- Counters.cpp - Bytes and calls of one rank -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"

using namespace cp::runtime;

size_t Counters::read(cprt_counter *out, size_t capacity) const {
  size_t next = 0;
  for (const auto &[key, counter] : counters) {
    if (next == capacity || !out)
      break;
    out[next++] = {key.first.data(), key.second, counter.calls,
                   counter.bytesSent.load(std::memory_order_relaxed)};
  }
  return counters.size();
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
}
