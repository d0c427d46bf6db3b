//===- Scan.cpp - Exclusive scan of states over a group -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both algorithms compute ((s0 + s1) + s2) + ..., so their results are equal
// bit by bit. This file is compiled without contraction of a * b + c: whether a
// compiler fuses it must not depend on which of the loops it stands in.
//
//===----------------------------------------------------------------------===//

#include "Copy.h"
#include "Exchange.h"

#include <algorithm>
#include <memory>
#include <new>

using namespace cp::runtime;

namespace {

/// A summary in one piece of memory: the decays, then the states.
struct Shape {
  DType dtype;
  int64_t decays, statesPerDecay;
  int64_t bytes, decayBytes;
};

struct ScanCall {
  const Group *group = nullptr;
  bool isGather = false;
  Shape shape{};
};

} // namespace

/// result = left then right. `result` may be either of them.
template <typename T>
static void combineAs(char *resultData, const char *leftData,
                      const char *rightData, const Shape &shape) {
  T *result = reinterpret_cast<T *>(resultData);
  const T *left = reinterpret_cast<const T *>(leftData);
  const T *right = reinterpret_cast<const T *>(rightData);
  int64_t inner = shape.statesPerDecay;
  for (int64_t d = 0; d < shape.decays; ++d) {
    T decay = right[d];
    int64_t begin = shape.decays + d * inner;
    for (int64_t i = begin; i < begin + inner; ++i)
      result[i] = decay * left[i] + right[i];
    result[d] = left[d] * decay;
  }
}

static void combine(char *result, const char *left, const char *right,
                    const Shape &shape) {
  auto *typed =
      shape.dtype == DType::F32 ? combineAs<float> : combineAs<double>;
  typed(result, left, right, shape);
}

/// Copies decay and state between the call's buffers and one summary.
static void pack(char *summary, const Buffer &decay, const Buffer &state,
                 const Shape &shape) {
  copyWhole(Contiguous(decay, summary).buffer(), decay);
  copyWhole(Contiguous(state, summary + shape.decayBytes).buffer(), state);
}

static void unpack(const char *summary, const Descriptor &call,
                   const Shape &shape) {
  char *data = const_cast<char *>(summary);
  copyWhole(call.out(0), Contiguous(call.out(0), data).buffer());
  copyWhole(call.out(1),
            Contiguous(call.out(1), data + shape.decayBytes).buffer());
}

static void writeIdentity(const Descriptor &call) {
  static constexpr float one32 = 1;
  static constexpr double one64 = 1;
  static constexpr double zero = 0;
  bool is32 = call.out(0).dtype == DType::F32;
  fill(call.out(0), is32 ? static_cast<const void *>(&one32) : &one64);
  fill(call.out(1), &zero);
}

static Result scanByChain(Context &context, const Descriptor &call,
                          const ScanCall &read, char *inclusive) {
  const Shape &shape = read.shape;
  int64_t position = read.group->position;
  Exchange exchange(context, call, *read.group);
  exchange.setSummary(inclusive);
  if (Result failure = exchange.enter())
    return failure;
  pack(inclusive, call.in(0), call.in(1), shape);
  const char *prefix = nullptr;
  if (position == 0) {
    writeIdentity(call);
  } else {
    if (Result failure = exchange.awaitSummary(position - 1, prefix))
      return failure;
    combine(inclusive, prefix, inclusive, shape);
  }
  exchange.publishSummary();
  if (!prefix)
    return std::nullopt;
  unpack(prefix, call, shape);
  exchange.took(position - 1, shape.bytes);
  return std::nullopt;
}

static Result scanByGather(Context &context, const Descriptor &call,
                           const ScanCall &read, char *summaries) {
  const Shape &shape = read.shape;
  const Group &group = *read.group;
  Exchange exchange(context, call, group);
  if (Result failure = exchange.enter())
    return failure;
  for (int64_t peer = 0; peer < group.size; ++peer) {
    pack(summaries + peer * shape.bytes, exchange.input(peer, 0),
         exchange.input(peer, 1), shape);
    exchange.took(peer, shape.bytes);
  }
  exchange.leave();
  for (int64_t peer = 1; peer < group.position; ++peer)
    combine(summaries, summaries, summaries + peer * shape.bytes, shape);
  if (group.position == 0)
    writeIdentity(call);
  else
    unpack(summaries, call, shape);
  return std::nullopt;
}

static Result checkScanBuffers(const Descriptor &call) {
  if (Result failure = call.expectCounts(2, 2))
    return failure;
  const Buffer &decay = call.in(0), &state = call.in(1);
  if (decay.dtype != DType::F32 && decay.dtype != DType::F64)
    return call.unsupported("scans " + typeText(decay) +
                            ", expected f32 or f64; convert before the scan");
  if (decay.rank > state.rank || decay.dtype != state.dtype ||
      !std::equal(decay.sizes, decay.sizes + decay.rank, state.sizes))
    return call.invalid("input 0 is " + typeText(decay) + " and input 1 is " +
                        typeText(state) +
                        ", expected one type, and that the decay's sizes "
                        "begin the state's");
  for (size_t i : {0, 1}) {
    const Buffer &in = call.in(i);
    if (Result failure =
            call.expectType(2 + i, in.dtype, {in.sizes, in.sizes + in.rank}))
      return failure;
  }
  return call.expectNotInPlace();
}

static Shape shapeOf(const Descriptor &call) {
  const Buffer &decay = call.in(0), &state = call.in(1);
  int64_t inner = 1;
  for (int dim = decay.rank; dim < state.rank; ++dim)
    inner *= state.sizes[dim];
  return {decay.dtype, numElements(decay), inner,
          numBytes(decay) + numBytes(state), numBytes(decay)};
}

static Result scanState(Context &context, const Descriptor &call) {
  if (Result failure = checkScanBuffers(call))
    return failure;
  ScanCall read;
  AttrReader attrs(call);
  read.isGather = attrs.integer("algorithm", 0, 1) == 1;
  Words axes = attrs.array("axes");
  if (Result failure = attrs.finish())
    return failure;
  if (Result failure = findGroup(context, call, axes, read.group))
    return failure;
  read.shape = shapeOf(call);
  int64_t bytes = 0;
  bool overflow = __builtin_mul_overflow(
      read.shape.bytes, read.isGather ? read.group->size : 1, &bytes);
  std::unique_ptr<char[]> memory(
      overflow ? nullptr : new (std::nothrow) char[size_t(bytes)]);
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no room for the summaries; use the chain, "
                                  "which holds one at a time"};
  return read.isGather ? scanByGather(context, call, read, memory.get())
                       : scanByChain(context, call, read, memory.get());
}

extern "C" void cprt_scan_state(cprt_context *context, cprt_stream *stream,
                                const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "scan_state", scanState);
}
