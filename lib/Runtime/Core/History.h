//===- History.h - The last collectives of one rank -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_HISTORY_H
#define CP_LIB_RUNTIME_HISTORY_H

#include "Clock.h"
#include "cp/Runtime/cprt_history.h"

#include <array>
#include <mutex>

namespace cp::runtime {

/// A ring of records. Written by the rank and by what makes its deferred calls,
/// read by whoever asks.
class History {
public:
  /// That a collective begins; `record` has what is known of it. Returns its
  /// number.
  int64_t begin(cprt_record record, Clock::time_point start);
  /// That it has ended. The same of these: nothing if its record is gone.
  void end(int64_t number, Clock::duration taken, Clock::duration exposed,
           int64_t bytesSent);
  /// That it failed, and so has come to no end.
  void markUnfinished(int64_t number);
  /// That the rank did nothing else meanwhile for so many seconds.
  void expose(int64_t number, double seconds);
  size_t read(cprt_record *out, size_t capacity) const;

private:
  /// Null if it is gone, or a number below 0.
  cprt_record *find(int64_t number);

  mutable std::mutex mutex;
  /// Guarded by it.
  int64_t count = 0;
  std::array<cprt_record, CPRT_HISTORY_LENGTH> records = {};
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_HISTORY_H
