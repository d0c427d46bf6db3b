//===- Fiber.cpp - Threads that take turns --------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's thread waits some hundred times a tile, for which a system call
// each, as swapcontext makes them, is too slow; so it is used only where there
// is no switch of ours.
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CP_ASAN 1
#else
#define CP_ASAN 0
#endif

namespace cp::kernels::cuda::exec {

static constexpr size_t stackBytes = CP_ASAN ? 512 << 10 : 128 << 10;

static thread_local Fiber *entered = nullptr;

#if defined(__x86_64__)
extern "C" void cpFiberSwitch(void **from, void *to);
// The registers that a function keeps for its caller, and the stack.
asm(R"(
.text
.globl cpFiberSwitch
.type cpFiberSwitch,@function
cpFiberSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cpFiberSwitch,.-cpFiberSwitch
)");

static void *prepare(void *stack, void (*body)()) {
  auto *top =
      reinterpret_cast<void **>(static_cast<char *>(stack) + stackBytes);
  // As behind a call: the address to return to lies below a multiple of 16.
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(body);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  return top;
}
static void switchTo(void **from, void *to) { cpFiberSwitch(from, to); }
#else
#include <ucontext.h>
static void *prepare(void *stack, void (*body)()) {
  // At the low end of the stack, which nothing reaches.
  auto *context = new (stack) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = context + 1;
  context->uc_stack.ss_size = stackBytes - sizeof *context;
  context->uc_link = nullptr;
  makecontext(context, body, 0);
  return context;
}
static void switchTo(void **from, void *to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t *>(to));
}
#endif

#if CP_ASAN
/// Of a function that was given up frames are still marked. Written into the
/// shadow as it is: where LLVM is linked the runtime is told to leave it alone
/// (allow_user_poisoning=0), and __asan_unpoison_memory_region does nothing.
__attribute__((no_sanitize("address"))) static void unmark(void *begin,
                                                           size_t bytes) {
  size_t scale = 0, offset = 0;
  __asan_get_shadow_mapping(&scale, &offset);
  auto *shadow = reinterpret_cast<volatile uint64_t *>(
      (reinterpret_cast<uintptr_t>(begin) >> scale) + offset);
  for (size_t i = 0; i < (bytes >> scale) / sizeof(uint64_t); ++i)
    shadow[i] = 0;
}
#endif

namespace {
/// Stacks that fibers of this thread have left: the system takes long to make
/// one, and a launch takes hundreds.
struct Stacks {
  struct Stack {
    void *memory;
    /// Whether only the frame of body is marked on it.
    bool isClean;
  };
  std::vector<Stack> left;

  ~Stacks() {
    for (const Stack &stack : left)
      munmap(stack.memory, stackBytes);
  }
};
} // namespace
static thread_local Stacks stacks;

Fiber::~Fiber() {
  if (stack)
    stacks.left.push_back({stack, hasEnded});
}

void Fiber::start(Function toRun, void *with) {
  if (!stack && !stacks.left.empty()) {
    stack = stacks.left.back().memory;
    hasEnded = stacks.left.back().isClean;
    stacks.left.pop_back();
  }
  if (!stack) {
    stack = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
      std::abort();
  }
#if CP_ASAN
  // Where the last function ended, there is the frame of body only.
  size_t marked = hasEnded ? 4096 : stackBytes;
  unmark(static_cast<char *>(stack) + stackBytes - marked, marked);
#endif
  function = toRun;
  argument = with;
  hasEnded = false;
  inside = prepare(stack, body);
}

void Fiber::body() {
  Fiber *self = entered;
#if CP_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->callersStack,
                                  &self->callersBytes);
#endif
  self->function(self->argument);
  self->hasEnded = true;
  for (;;)
    self->leave();
}

bool Fiber::enter() {
  entered = this;
#if CP_ASAN
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack, stackBytes);
#endif
  switchTo(&outside, inside);
#if CP_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  return hasEnded;
}

void Fiber::leave() {
#if CP_ASAN
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(hasEnded ? nullptr : &fake, callersStack,
                                 callersBytes);
#endif
  switchTo(&inside, outside);
#if CP_ASAN
  __sanitizer_finish_switch_fiber(fake, &callersStack, &callersBytes);
#endif
}

} // namespace cp::kernels::cuda::exec
