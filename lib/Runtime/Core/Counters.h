//===- Counters.h - Bytes and calls of one rank -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_COUNTERS_H
#define CP_LIB_RUNTIME_COUNTERS_H

#include "cp/Runtime/cprt.h"

#include <atomic>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace cp::runtime {

/// The rank that owns it counts the calls; whoever copies bytes out of that
/// rank's buffers adds them, from its own thread.
struct Counter {
  int64_t calls = 0;
  std::atomic<int64_t> bytesSent{0};
  /// In which the rank did nothing but wait for, or move, what is exchanged;
  /// its own time.
  std::atomic<int64_t> exposedNanoseconds{0};
};

/// All counters of one rank, by op and set of axes. Addresses stay valid; only
/// the owning rank may add entries.
class Counters {
public:
  /// `op` has static storage.
  Counter &at(const char *op, uint64_t axes) { return counters[{op, axes}]; }
  size_t read(cprt_counter *out, size_t capacity) const;
  /// Adds what has been counted elsewhere.
  void add(const cprt_counter &moved);
  /// What has been counted, which becomes 0.
  std::vector<cprt_counter> take();
  /// All become 0, and are not read before they count again.
  void clear();

private:
  std::map<std::pair<std::string_view, uint64_t>, Counter> counters;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_COUNTERS_H
