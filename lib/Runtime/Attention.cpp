//===- Attention.cpp - Attention of one rank ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "Context.h"
#include "LocalOps.h"

#include <cmath>
#include <cstring>

using namespace cp::runtime;

static Result checkRank(const Descriptor &call, size_t input) {
  if (call.in(input).rank == 4)
    return std::nullopt;
  return call.invalid(call.label(input) + " is " + typeText(call.in(input)) +
                      ", expected 4 dimensions: batch, sequence, heads, head");
}

Result cp::runtime::checkAttentionBuffers(const Descriptor &call) {
  if (Result failure = call.expectCounts(3, 2))
    return failure;
  for (size_t i : {0, 1, 2})
    if (Result failure = checkRank(call, i))
      return failure;
  const Buffer &q = call.in(0), &k = call.in(1), &v = call.in(2);
  int64_t b = q.sizes[0], l = q.sizes[1], hq = q.sizes[2], d = q.sizes[3];
  int64_t s = k.sizes[1], hkv = k.sizes[2], dv = v.sizes[3];
  if (Result failure = call.expectType(1, q.dtype, {b, s, hkv, d}))
    return failure;
  if (Result failure = call.expectType(2, q.dtype, {b, s, hkv, dv}))
    return failure;
  if (Result failure = call.expectType(3, q.dtype, {b, l, hq, dv}))
    return failure;
  if (Result failure = call.expectType(4, sumType(q.dtype), {b, hq, l}))
    return failure;
  if (hkv ? hq % hkv == 0 : hq == 0)
    return std::nullopt;
  return call.invalid(std::to_string(hq) + " query heads for " +
                      std::to_string(hkv) +
                      " key heads, expected a multiple of them");
}

Result cp::runtime::checkAttentionRule(const Descriptor &call,
                                       const AttentionRule &rule,
                                       const Positions &queries,
                                       const Positions &keys) {
  double scale;
  std::memcpy(&scale, &rule.scale, sizeof scale);
  if (std::isnan(scale))
    return call.invalid("attribute 'scale' is NaN, expected a number");
  if (rule.window && !rule.causal)
    return call.invalid("attribute 'window' is " + std::to_string(rule.window) +
                        ", expected 0 without causal: it limits how far back a "
                        "causal query sees");
  if (rule.causal && queries.whole != keys.whole)
    return call.invalid(std::to_string(queries.whole) + " queries and " +
                        std::to_string(keys.whole) +
                        " keys in all, expected as many: causal compares "
                        "their places in one sequence");
  return std::nullopt;
}

Result cp::runtime::findAttentionKernels(Context &context,
                                         const Descriptor &call,
                                         AttentionKernels &found) {
  DType dtype = call.in(0).dtype;
  found = {kernelFor(context, "attention", dtype),
           kernelFor(context, "attention_merge", sumType(dtype))};
  if (found.attention && found.merge)
    return std::nullopt;
  return call.unsupported("there is no kernel for " + typeText(call.in(0)) +
                          "; use f32, f64 or bf16");
}

static void append(List<int64_t> &words, const std::vector<int64_t> &array) {
  words.push_back(int64_t(array.size()));
  words.insert(words.end(), array.begin(), array.end());
}

const char *cp::runtime::attendBlock(const AttentionKernels &kernels,
                                     const AttentionRule &rule, const Buffer &q,
                                     const std::vector<int64_t> &queryRuns,
                                     const Buffer &k, const Buffer &v,
                                     const std::vector<int64_t> &keyRuns,
                                     const Buffer &o, const Buffer &lse) {
  List<int64_t> words = {rule.causal, rule.scale, rule.window};
  append(words, queryRuns);
  append(words, keyRuns);
  const Buffer ins[] = {q, k, v}, outs[] = {o, lse};
  return kernels.attention({ins, 3, outs, 2, words.data(), words.size()});
}

static Result attention(Context &context, const Descriptor &call) {
  if (Result failure = checkAttentionBuffers(call))
    return failure;
  AttrReader attrs(call);
  AttentionRule rule;
  rule.causal = attrs.flag("causal");
  SequenceCut k, q;
  k.axes = attrs.array("k_axes");
  k.orders = attrs.array("k_orders");
  q.axes = attrs.array("q_axes");
  q.orders = attrs.array("q_orders");
  rule.scale = attrs.integer("scale", INT64_MIN, INT64_MAX);
  rule.window = attrs.integer("window", 0, INT64_MAX);
  if (Result failure = attrs.finish())
    return failure;
  const Positions *queries = nullptr, *keys = nullptr;
  if (Result failure =
          findPositions(context, call, "q_", q, call.in(0).sizes[1], queries))
    return failure;
  if (Result failure =
          findPositions(context, call, "k_", k, call.in(1).sizes[1], keys))
    return failure;
  if (Result failure = checkAttentionRule(call, rule, *queries, *keys))
    return failure;
  AttentionKernels kernels;
  if (Result failure = findAttentionKernels(context, call, kernels))
    return failure;
  if (const char *wrong =
          attendBlock(kernels, rule, call.in(0), queries->own(), call.in(1),
                      call.in(2), keys->own(), call.out(0), call.out(1)))
    return call.invalid(std::string(wrong) + "; found " + call.describe());
  return std::nullopt;
}

extern "C" void cprt_attention(cprt_context *context, cprt_stream *stream,
                               const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "attention", attention);
}
