//===- WorldOptions.cpp - What all worlds are made with -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorldOptions.h"

#include "CText.h"

#include "cp/Runtime/Processors.h"
#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace cp::runtime;

static constexpr int64_t maxKernelThreads = 1024;
/// A year; keeps sums of times far from overflow.
static constexpr int64_t maxDeadlineMs = 365LL * 24 * 3600 * 1000;

static Failure invalid(std::string text) {
  return {CPRT_INVALID_ARGUMENT, std::move(text)};
}

static Error checkOptions(const cprt_options &options) {
  int32_t axes = options.num_axes;
  if (axes < 0 || axes > 64 || (axes > 0 && !options.axis_sizes))
    return invalid("num_axes is " + std::to_string(axes) +
                   ", expected 0 to 64, with axis_sizes unless it is 0");
  if (options.deadline_ms < 0 || options.deadline_ms > maxDeadlineMs)
    return invalid("deadline_ms is " + std::to_string(options.deadline_ms) +
                   ", expected 0 (default) to " +
                   std::to_string(maxDeadlineMs));
  // A C caller may have stored any number: copied, not read as an enum.
  unsigned set = 0;
  static_assert(sizeof(set) == sizeof(options.kernels));
  std::memcpy(&set, &options.kernels, sizeof(set));
  if (set != CPRT_KERNELS_FAST && set != CPRT_KERNELS_REFERENCE)
    return invalid("kernels is " + std::to_string(set) +
                   ", expected a cprt_kernel_set (0 or 1)");
  if (options.threads < 0 || options.threads > maxKernelThreads)
    return invalid("threads is " + std::to_string(options.threads) +
                   ", expected 0 (share the processors) to " +
                   std::to_string(maxKernelThreads));
  if (options.device && options.device->struct_size < sizeof(cprt_device))
    return invalid("the device is not whole, expected a cprt_device that "
                   "cprt_device_open has filled in");
  if (options.device_number < 0 || options.device_number > INT32_MAX)
    return invalid("device_number is " + std::to_string(options.device_number) +
                   ", expected 0 (in turn), or one more than a card's");
  if (const cprt_allocator *allocator = options.allocator)
    if (allocator->struct_size < sizeof(*allocator) || !allocator->allocate ||
        !allocator->release)
      return invalid("the allocator is not whole, expected struct_size " +
                     std::to_string(sizeof(*allocator)) +
                     ", and allocate and release not null");
  return std::nullopt;
}

Error cp::runtime::readOptions(const cprt_options *options,
                               cprt_options &read) {
  read = {};
  if (Error failure =
          readSizedOptions(options, offsetof(cprt_options, deadline_ms),
                           "cprt_options", &read, sizeof(read)))
    return failure;
  return checkOptions(read);
}

Error cp::runtime::applyOptions(const cprt_options &read, int64_t maxRanks,
                                const char *what, cprt_world &world) {
  for (int32_t i = 0; i < read.num_axes; ++i)
    world.mesh.axes.push_back({"axis" + std::to_string(i), read.axis_sizes[i]});
  if (std::optional<std::string> wrong = cp::check(world.mesh))
    return invalid(*wrong);
  if (int64_t ranks = world.mesh.numRanks(); ranks > maxRanks)
    return invalid("the mesh has " + std::to_string(ranks) +
                   " ranks, expected at most " + std::to_string(maxRanks) +
                   " " + what);
  if (read.deadline_ms)
    world.deadline = std::chrono::milliseconds(read.deadline_ms);
  if (read.kernels == CPRT_KERNELS_REFERENCE)
    world.kernelSet = cp::kernels::KernelSet::Reference;
  world.device = read.device;
  world.fallsBack = read.device_fallback;
  if (read.device_number)
    world.firstCard = read.device_number - 1;
  world.allocator = read.allocator;
  return std::nullopt;
}

bool cp::runtime::shareProcess(const cprt_options &read, int64_t ranks,
                               cprt_world &world) {
  Processors processors = Processors::ofThisProcess();
  world.threads =
      read.threads ? read.threads : processors.shareInProcess(ranks);
  return ranks * world.threads > processors.allowed;
}

bool cp::runtime::shareMachine(const cprt_options &read, int64_t ranks,
                               cprt_world &world) {
  Processors processors = Processors::ofThisProcess();
  world.threads = read.threads ? read.threads : processors.shareInJob(ranks);
  return ranks * world.threads > processors.all ||
         world.threads > processors.allowed;
}
