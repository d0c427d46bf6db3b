//===- Device.cpp - What callers do with a rank's device ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Elements.h"
#include "Operations.h"
#include "SideQueue.h"
#include "World.h"

#include <cstring>
#include <new>
#include <sstream>

using namespace cp::runtime;

/// Runs `body` unless the context has failed, and keeps what goes wrong.
template <typename Body>
static void enter(Context *context, const char *call, Body body) {
  if (!context || context->hasFailed())
    return;
  Entry entry(*context, call);
  if (!entry)
    return;
  try {
    if (Error failure = body())
      context->fail(failure->status,
                    std::string(call) + ": " + failure->message);
  } catch (const std::bad_alloc &) {
    failOutOfMemory(*context);
  }
}

/// The same for what no recording takes.
template <typename Body>
static void enterBehindPiece(Context *context, const char *call, Body body) {
  enter(context, call, [&]() -> Error {
    if (context->recording)
      if (Error failure = context->recording->cut())
        return failure;
    return body();
  });
}

static Error checkCopy(const void *to, const void *from, int64_t bytes) {
  if (bytes < 0 || (bytes && (!to || !from)))
    return Failure{CPRT_INVALID_ARGUMENT,
                   "found " + std::to_string(bytes) +
                       " bytes, or a null pointer; expected 0 or more between "
                       "two places"};
  return std::nullopt;
}

extern "C" int64_t cprt_device_free_bytes(cprt_context *context) {
  int64_t bytes = -1;
  if (context && context->queue)
    enterBehindPiece(context, "device_free_bytes", [&]() -> Error {
      bytes = context->queue->freeBytes();
      return std::nullopt;
    });
  return bytes;
}

extern "C" void *cprt_device_alloc(cprt_context *context, int64_t bytes) {
  void *pointer = nullptr;
  enterBehindPiece(context, "device_alloc", [&]() -> Error {
    if (bytes < 0)
      return Failure{CPRT_INVALID_ARGUMENT, "found " + std::to_string(bytes) +
                                                " bytes, expected 0 or more"};
    pointer = context->handed.allocate(bytes);
    if (pointer)
      return std::nullopt;
    return Failure{CPRT_OUT_OF_MEMORY,
                   "no " + std::to_string(bytes) +
                       " bytes left; use more ranks or a shorter sequence"};
  });
  return pointer;
}

extern "C" void cprt_upload(cprt_context *context, void *to, const void *from,
                            int64_t bytes) {
  enterBehindPiece(context, "upload", [&]() -> Error {
    if (Error failure = checkCopy(to, from, bytes))
      return failure;
    if (context->queue)
      return context->queue->upload(to, from, bytes);
    if (bytes)
      std::memcpy(to, from, size_t(bytes));
    return std::nullopt;
  });
}

/// All that the context has begun.
static Error synchronize(Context &context) {
  if (context.side)
    if (Error failure = context.side->synchronize())
      return failure;
  return context.queue->synchronize();
}

extern "C" void cprt_download(cprt_context *context, void *to, const void *from,
                              int64_t bytes) {
  enterBehindPiece(context, "download", [&]() -> Error {
    if (Error failure = checkCopy(to, from, bytes))
      return failure;
    if (context->queue) {
      if (Error failure = context->queue->download(to, from, bytes))
        return failure;
      return synchronize(*context);
    }
    if (bytes)
      std::memcpy(to, from, size_t(bytes));
    return std::nullopt;
  });
}

extern "C" void cprt_synchronize(cprt_context *context) {
  if (!context || !context->queue)
    return;
  enterBehindPiece(context, "synchronize",
                   [&] { return synchronize(*context); });
}

extern "C" void cprt_run_after(cprt_context *context, void *stream) {
  if (!context || !context->queue)
    return;
  enterBehindPiece(context, "run_after",
                   [&] { return context->queue->runAfter(stream); });
}

extern "C" void cprt_run_before(cprt_context *context, void *stream) {
  if (!context || !context->queue)
    return;
  if (!context->hasFailed())
    return enterBehindPiece(context, "run_before",
                            [&] { return context->queue->runBefore(stream); });
  // What was started before the failure, which stays the first one, may go on
  // with the caller's memory.
  try {
    (void)context->queue->runBefore(stream);
  } catch (const std::bad_alloc &) {
    failOutOfMemory(*context);
  }
}

extern "C" void cprt_on_host(cprt_context *context, cprt_op *op,
                             const int64_t *desc, void *const *buffers) {
  if (!context)
    return;
  if (!op)
    return cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                             "on_host: the operation is null");
  enterBehindPiece(context, "on_host", []() -> Error { return std::nullopt; });
  bool before = context->isOnHost;
  context->isOnHost = true;
  op(context, nullptr, desc, buffers);
  context->isOnHost = before;
}

/// The operations of a list that the device has no kernel for, with their
/// types.
static std::string missing(const DeviceQueue &queue, const char *operations) {
  std::string names;
  std::istringstream lines(operations);
  std::string op;
  for (int dtype = 0; lines >> op >> dtype;) {
    auto type = DType(dtype);
    if (!computes(op.c_str(), type) ||
        queue.hasKernel(kernelOf(op.c_str()), type))
      continue;
    names += (names.empty() ? "" : ", ") + op + " (" +
             cp::kernels::dtypeName(type) + ")";
  }
  return names;
}

extern "C" void cprt_require(cprt_context *context, const char *operations) {
  if (!context || !context->queue || !operations || context->world.fallsBack ||
      context->required == operations)
    return;
  enter(context, "require", [&]() -> Error {
    context->required = operations;
    std::string names = missing(*context->queue, operations);
    if (names.empty())
      return std::nullopt;
    return Failure{CPRT_UNSUPPORTED,
                   std::string(context->queue->name()) + " has no kernel of " +
                       names +
                       ", which the program calls; let the host compute them "
                       "(--device-fallback), or use another form"};
  });
}

extern "C" void *cprt_constant(cprt_context *context, const void *value,
                               int64_t bytes) {
  if (context && !context->queue)
    return const_cast<void *>(value);
  void *there = nullptr;
  enter(context, "constant", [&]() -> Error {
    Error failure;
    there = context->queue->constant(value, bytes, failure);
    return failure;
  });
  return there;
}

extern "C" void cprt_launch_kernel(cprt_context *context, cprt_stream *stream,
                                   const cprt_kernel *kernel,
                                   void *const *buffers) {
  if (context && !context->queue)
    return cprt_launch(context, stream, kernel ? kernel->run : nullptr,
                       buffers);
  enter(context, "launch", [&]() -> Error {
    if (!kernel || stream)
      return Failure{CPRT_INVALID_ARGUMENT,
                     "expected a kernel and a null stream"};
    if (Recording *recording = context->recording) {
      if (recording->skip(kernel))
        return std::nullopt;
      if (Error failure = recording->take(kernel, /*isAlone=*/true))
        return failure;
    }
    return context->queue->launch(*kernel, buffers);
  });
}
