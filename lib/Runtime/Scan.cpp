//===- Scan.cpp - Exclusive scan of states over a group -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All algorithms but doubling compute ((s0 + s1) + s2) + ..., so their results
// are equal bit by bit.
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

#include <algorithm>
#include <iterator>

using namespace cp::runtime;

namespace {

struct Algorithm {
  ScanBytes bytes;
  ScanBody body;
};

} // namespace

/// By the word in the descriptor.
static constexpr Algorithm algorithms[] = {
    {bytesOfOwn, scanByChain},           {bytesOfGather, scanByGather},
    {bytesOfDoubling, scanByDoubling},   {bytesOfOwn, scanByPipeline},
    {bytesOfTransposed, scanTransposed},
};

/// The total is that of one sequence, though a rank may bring several parts.
static Result checkTotal(const Descriptor &call, int64_t perRank) {
  for (size_t i : {0, 1}) {
    const Buffer &in = call.in(i);
    List<int64_t> sizes(in.sizes, in.sizes + in.rank);
    if (perRank > 1)
      sizes[0] /= perRank;
    if (Result failure = call.expectType(4 + i, in.dtype, sizes))
      return failure;
  }
  return std::nullopt;
}

static Result checkScanBuffers(const Descriptor &call, bool hasTotal) {
  if (Result failure = call.expectCounts(2, hasTotal ? 4 : 2))
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

/// Whether the summaries of a rank's parts can be told apart.
static Result checkParts(const Descriptor &call, int64_t perRank) {
  const Buffer &decay = call.in(0);
  if (perRank == 1 || (decay.rank > 0 && decay.sizes[0] % 2 == 0))
    return std::nullopt;
  return call.invalid("input 0 is " + typeText(decay) +
                      ", expected an even dim 0: in zigzag order it holds the "
                      "summaries of a rank's two parts in turn");
}

static SummaryShape shapeOf(const Descriptor &call, const Sequence &sequence) {
  int64_t perRank = sequence.partsPerRank();
  const Buffer &decay = call.in(0), &state = call.in(1);
  int64_t inner = 1;
  for (int dim = decay.rank; dim < state.rank; ++dim)
    inner *= state.sizes[dim];
  return {decay.dtype,
          numElements(state) / perRank,
          numElements(decay) / perRank,
          inner,
          numBytes(state) / perRank,
          numBytes(decay) / perRank,
          perRank,
          sequence.isReverse};
}

/// Whether the memory of every algorithm has a size that fits 63 bits.
static bool isCountable(const Scan &scan) {
  int64_t one = 0, all = 0;
  return !__builtin_add_overflow(scan.shape.stateBytes, scan.shape.decayBytes,
                                 &one) &&
         !__builtin_mul_overflow(one, scan.sequence.numParts() + 4, &all);
}

static Result run(const Algorithm &algorithm, const Scan &scan) {
  char *memory = nullptr;
  if (isCountable(scan))
    memory = scan.context.memory.staging(algorithm.bytes(scan));
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   scan.call.title() +
                       ": no room for the summaries; use the chain, "
                       "which holds one at a time"};
  return algorithm.body(scan, memory);
}

static Result scanState(Context &context, const Descriptor &call) {
  AttrReader attrs(call);
  int64_t algorithm =
      attrs.integer("algorithm", 0, int64_t(std::size(algorithms)) - 1);
  Words axes = attrs.array("axes");
  int64_t order = attrs.integer("order", 0, INT64_MAX);
  bool isReverse = attrs.flag("reverse"), hasTotal = attrs.flag("total");
  if (Result failure = attrs.finish())
    return failure;
  if (Result failure = checkScanBuffers(call, hasTotal))
    return failure;
  Cut cut;
  if (Result failure = readSequenceCut(call, order, cut))
    return failure;
  int64_t perRank = *cp::partsPerRank(cut);
  if (Result failure = checkParts(call, perRank))
    return failure;
  if (hasTotal)
    if (Result failure = checkTotal(call, perRank))
      return failure;
  const Group *group = nullptr;
  if (Result failure = findGroup(context, call, axes, group))
    return failure;
  Sequence sequence = {cut, group->size, isReverse};
  return run(
      algorithms[algorithm],
      {context, call, *group, shapeOf(call, sequence), sequence, hasTotal});
}

extern "C" void cprt_scan_state(cprt_context *context, cprt_stream *stream,
                                const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "scan_state", scanState);
}
