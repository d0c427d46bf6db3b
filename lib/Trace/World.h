//===- World.h - The runtime at work on ids ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRACE_WORLD_H
#define CP_LIB_TRACE_WORLD_H

#include "Execution/RankThreads.h"
#include "cp/IR/CPDialect.h"
#include "cp/Layout/Mesh.h"
#include "cp/Runtime/cprt.h"
#include "cp/Trace/TracedValue.h"
#include "llvm/Support/Error.h"

namespace cp {

/// One operand or result of a call: its shape and the words of each rank.
struct CallBuffer {
  llvm::SmallVector<int64_t> shape;
  std::vector<Words> ranks;
  /// Whether the words are numbers of 32 bits, two in each.
  bool isI32 = false;
};

/// Doubles as words, and back.
Words wordsOfNumbers(const std::vector<double> &numbers);
std::vector<double> numbersOfWords(const Words &words);

/// A world of threads that runs the runtime's own operations on words.
class TraceWorld {
public:
  static llvm::Expected<std::unique_ptr<TraceWorld>> create(const Mesh &mesh);

  /// Whether `op` is one that runs here: what moves elements or sums them.
  static bool runs(RuntimeOpInterface op);

  /// Runs the call that `op` becomes, on 64-bit words, which are doubles where
  /// `asDoubles`. Gives one buffer for each result. Errors: what the runtime
  /// says.
  llvm::Expected<std::vector<CallBuffer>>
  call(RuntimeOpInterface op, const std::vector<CallBuffer> &inputs,
       bool asDoubles);

private:
  explicit TraceWorld(cprt_world *world) : world(world) {}

  struct Deleter {
    void operator()(cprt_world *world) const { cprt_world_destroy(world); }
  };
  std::unique_ptr<cprt_world, Deleter> world;
  std::function<void(int64_t)> work;
  int64_t calls = 0;
  /// Last: its threads use all of the above.
  std::unique_ptr<RankThreads> threads;
};

} // namespace cp

#endif // CP_LIB_TRACE_WORLD_H
