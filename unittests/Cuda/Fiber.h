//===- Fiber.h - Threads that take turns ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_FIBER_H
#define CP_UNITTESTS_CUDA_FIBER_H

#include <cstddef>

namespace cp::kernels::cuda::exec {

/// A function with a stack of its own, which its caller and itself leave and
/// enter. Of one thread of the operating system; not copied once it has begun.
class Fiber {
public:
  using Function = void (*)(void *);

  Fiber() = default;
  Fiber(Fiber &&) = delete;
  ~Fiber();

  /// Sets it to the start of `function(argument)`; it does not run yet. What
  /// was left of an earlier function is forgotten, not unwound.
  void start(Function function, void *argument);
  /// Goes on with it, until it leaves or ends; true when it has ended.
  bool enter();
  /// From within: back to who entered.
  void leave();

private:
  static void body();

  void *stack = nullptr;
  /// Where each side goes on. What the sanitizer keeps of the caller's stack.
  void *inside = nullptr, *outside = nullptr;
  const void *callersStack = nullptr;
  size_t callersBytes = 0;
  Function function = nullptr;
  void *argument = nullptr;
  bool hasEnded = false;
};

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_FIBER_H
