//===- Attention.cpp - Attention of one rank ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "AttentionTiles.h"
#include "Operations.h"

#include <cstring>

using namespace cp::runtime;

static Error checkRank(const Descriptor &call, size_t input) {
  if (call.in(input).rank == 4)
    return std::nullopt;
  return call.invalid(call.label(input) + " is " + typeText(call.in(input)) +
                      ", expected 4 dimensions: batch, sequence, heads, head");
}

const Buffer *cp::runtime::optionalInput(const Descriptor &call, size_t i) {
  bool isThere = i < call.numIns() && call.in(i).dtype != DType::Absent;
  return isThere ? &call.in(i) : nullptr;
}

Error cp::runtime::checkHeads(const Descriptor &call, int64_t queryHeads,
                              int64_t keyHeads) {
  if (keyHeads ? queryHeads % keyHeads == 0 : queryHeads == 0)
    return std::nullopt;
  return call.invalid(std::to_string(queryHeads) + " query heads for " +
                      std::to_string(keyHeads) +
                      " key heads, expected a multiple of them");
}

Error cp::runtime::checkAttentionBuffers(const Descriptor &call) {
  for (size_t i : {0, 1, 2})
    if (Error failure = checkRank(call, i))
      return failure;
  const Buffer &q = call.in(0), &k = call.in(1), &v = call.in(2);
  int64_t b = q.sizes[0], l = q.sizes[1], hq = q.sizes[2], d = q.sizes[3];
  int64_t s = k.sizes[1], hkv = k.sizes[2], dv = v.sizes[3];
  if (Error failure = call.expectType(1, q.dtype, {b, s, hkv, d}))
    return failure;
  if (Error failure = call.expectType(2, q.dtype, {b, s, hkv, dv}))
    return failure;
  if (placesOf(call))
    if (Error failure = call.expectType(3, DType::I64, {b, l}))
      return failure;
  size_t out = call.numIns();
  if (Error failure = call.expectType(out, q.dtype, {b, l, hq, dv}))
    return failure;
  if (Error failure = call.expectType(out + 1, sumType(q.dtype), {b, hq, l}))
    return failure;
  return checkHeads(call, hq, hkv);
}

/// Of a ring before it is entered, so that no peer waits for its blocks.
static Error checkReach(const Descriptor &call, const Positions &queries,
                        const Buffer &places) {
  const std::vector<int64_t> &runs = queries.own();
  if (const char *wrong = cp::kernels::checkReach(
          {static_cast<const int64_t *>(places.data),
           {places.strides[0], places.strides[1]}},
          places.sizes[0],
          {runs.data(), int64_t(runs.size()) / cp::kernels::Runs::wordsPerRun}))
    return call.invalid(wrong);
  return std::nullopt;
}

Error cp::runtime::checkAttentionRule(
    const Context &context, const Descriptor &call, const AttentionRule &rule,
    const Positions &queries, const Positions &keys, const Buffer *places) {
  if (rule.window && !rule.causal)
    return call.invalid("attribute 'window' is " + std::to_string(rule.window) +
                        ", expected 0 without causal: it limits how far back a "
                        "causal query sees");
  if (rule.causal && queries.whole != keys.whole)
    return call.invalid(std::to_string(queries.whole) + " queries and " +
                        std::to_string(keys.whole) +
                        " keys in all, expected as many: causal compares "
                        "their places in one sequence");
  if (places && !rule.causal)
    return call.invalid("there are places without causal, expected causal: "
                        "they say how far back a query sees");
  // Those on a device nobody looks at.
  bool isHere = places && !context.deviceOfCall();
  return isHere ? checkReach(call, queries, *places) : std::nullopt;
}

BlockKernel cp::runtime::blockKernel(Context &context, const char *op,
                                     DType dtype) {
  bool isOfDevice = context.queue && context.queue->hasKernel(op, dtype);
  return {kernelFor(context, op, dtype),
          isOfDevice ? context.queue.get() : nullptr,
          context.deviceOfCall() != nullptr, op, dtype};
}

Error BlockKernel::operator()(const Descriptor &call,
                              const kernels::Call &decoded) const {
  if (queue)
    return areBlocksOnDevice ? queue->run(call, op, dtype, decoded)
                             : queue->runFromHost(call, op, dtype, decoded);
  // What it takes has been checked, so that it can only want memory.
  if (const char *wrong = onHost(decoded))
    return Failure{CPRT_OUT_OF_MEMORY, call.title() + ": " + wrong};
  return std::nullopt;
}

Error cp::runtime::findAttentionKernels(Context &context,
                                        const Descriptor &call,
                                        AttentionKernels &found) {
  DType dtype = call.in(0).dtype;
  found = {blockKernel(context, "attention", dtype),
           blockKernel(context, "attention_merge", sumType(dtype))};
  if (!context.deviceOfCall())
    found.merge.queue = nullptr;
  if (found.attention.onHost && found.merge.onHost)
    return std::nullopt;
  return call.unsupported("there is no kernel for " + typeText(call.in(0)) +
                          "; use f32, f64 or bf16");
}

List<int64_t> cp::runtime::wordsOf(const AttentionRule &rule) {
  int64_t scale;
  std::memcpy(&scale, &rule.scale, sizeof scale);
  return {rule.causal, scale, rule.window};
}

void cp::runtime::append(List<int64_t> &words,
                         const std::vector<int64_t> &array) {
  words.push_back(int64_t(array.size()));
  words.insert(words.end(), array.begin(), array.end());
}

Error cp::runtime::attendBlock(const AttentionKernels &kernels,
                               const AttentionRule &rule,
                               const Descriptor &call,
                               const AttentionBlock &block) {
  List<int64_t> words = wordsOf(rule);
  // As much of the pool for all documents of packed rows.
  words.reserve(words.size() + 2 + block.queryRuns.capacity() +
                block.keyRuns.capacity());
  append(words, block.queryRuns);
  append(words, block.keyRuns);
  const Buffer ins[] = {block.q, block.k, block.v,
                        block.places ? *block.places : Buffer()};
  const Buffer outs[] = {block.o, block.lse};
  return kernels.attention(
      call, {ins, block.places ? 4u : 3u, outs, 2, words.data(), words.size()});
}

Error cp::runtime::operations::attention(Context &context,
                                         const Descriptor &call) {
  if (Error failure = checkAttentionBuffers(call))
    return failure;
  AttentionAttributes attrs(call);
  AttentionRule rule = {attrs.causal, attrs.scale, attrs.window};
  const Positions *queries = nullptr, *keys = nullptr;
  if (Error failure =
          findPositions(context, call, "q_", {attrs.qAxes, attrs.qOrders},
                        call.in(0).sizes[1], queries))
    return failure;
  if (Error failure =
          findPositions(context, call, "k_", {attrs.kAxes, attrs.kOrders},
                        call.in(1).sizes[1], keys))
    return failure;
  if (Error failure = checkAttentionRule(context, call, rule, *queries, *keys,
                                         placesOf(call)))
    return failure;
  AttentionKernels kernels;
  if (Error failure = findAttentionKernels(context, call, kernels))
    return failure;
  Error failure =
      attendBlock(kernels, rule, call,
                  {call.in(0), call.in(1), call.in(2), placesOf(call),
                   call.out(0), call.out(1), queries->own(), keys->own()});
  // Its buffers are the caller's.
  if (failure && !context.deviceOfCall())
    failure = Failure{CPRT_INVALID_ARGUMENT,
                      failure->message + "; found " + call.describe()};
  return failure;
}
