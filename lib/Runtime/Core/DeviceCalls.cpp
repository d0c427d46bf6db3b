//===- DeviceCalls.cpp - Where a call runs whose tensors are on a device --===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "DocumentLists.h"
#include "Operations.h"
#include "World.h"

#include <algorithm>
#include <array>
#include <string_view>

using namespace cp::runtime;

namespace {
/// An operation that is no kernel but that a device can do the work of, and
/// what kernels that takes beside copies of its inputs: of each tensor's type,
/// of the first one's, and of the type that this one is summed in.
struct Moving {
  std::string_view op;
  std::array<const char *, 2> each = {};
  const char *first = nullptr, *sums = nullptr;
  /// Which of its calls no other rank has a part in, and which it can, where
  /// that is none, or all.
  bool (*isAlone)(Context &context, const Descriptor &call) = nullptr;
  bool (*takes)(Context &context, const Descriptor &call) = nullptr;
};
} // namespace

static bool always(Context &, const Descriptor &) { return true; }

static constexpr Moving moving[] = {
    {"all_gather"},
    {"all_to_all"},
    {"document_positions",
     {},
     "document_places",
     nullptr,
     arePlacesOfWhole,
     hasFixedRows},
    {"halo"},
    {"positions", {}, "copy", nullptr, always},
    {"reorder"},
    {"reorder_documents"},
    {"shift"},
    {"slice", {}, nullptr, nullptr, always},
    {"unslice", {}, nullptr, nullptr, always},
    {"all_reduce", {"sum_rows"}},
    {"reduce_scatter", {"sum_rows"}},
    {"scan_state", {"join_states", "join_decays"}},
    {"ring_attention", {}, "attention", "attention_merge"},
    {"ring_attention_grad", {}, "attention_grad_block", "accumulate"}};

static bool isAlone(Context &context, const Descriptor &call,
                    const Moving &moved) {
  return moved.isAlone && moved.isAlone(context, call);
}

/// The one that the device does in a call, or null.
static const Moving *movedOnDevice(Context &context, const Descriptor &call) {
  auto has = [&](const char *kernel, DType dtype) {
    return !kernel || context.queue->hasKernel(kernel, dtype);
  };
  const auto *found =
      std::find_if(std::begin(moving), std::end(moving),
                   [&](const Moving &each) { return each.op == call.op(); });
  if (found == std::end(moving) ||
      (found->takes && !found->takes(context, call)) ||
      (!context.world.movesOnDevice() && !isAlone(context, call, *found)))
    return nullptr;
  DType first = keyType(call);
  if (!has(found->first, first) || !has(found->sums, sumType(first)))
    return nullptr;
  bool hasAll = std::all_of(
      call.allBuffers(), call.allBuffers() + call.numIns(),
      [&](const Buffer &in) {
        return in.dtype == DType::Absent ||
               (size_t(in.rank) <= DeviceQueue::maxCopyRank &&
                has("copy", in.dtype) && has(found->each[0], in.dtype) &&
                has(found->each[1], in.dtype));
      });
  return hasAll ? found : nullptr;
}

Error cp::runtime::runOnDevice(Context &context, Descriptor &call,
                               const OpBody &body) {
  DeviceQueue &queue = *context.queue;
  DType dtype = keyType(call);
  bool hasKernel = queue.hasKernel(call.op(), dtype);
  const Moving *moved = hasKernel ? nullptr : movedOnDevice(context, call);
  if (context.recording)
    if (Error failure = context.recording->take(
            call.table(),
            hasKernel || (moved && isAlone(context, call, *moved))))
      return failure;
  if (hasKernel || moved)
    return body(context, call);
  if (!context.world.fallsBack && computes(call.op(), dtype) &&
      !queue.hasKernel(kernelOf(call.op()), dtype))
    return call.unsupported(
        std::string(queue.name()) + " has no kernel of it for " +
        (call.numIns() ? typeText(call.in(0)) : "it") +
        "; let the host compute what is missing, or use another form");
  context.isOnHost = true;
  Error failure =
      queue.onHost(call, [&]() -> Error { return body(context, call); });
  context.isOnHost = false;
  return failure;
}
