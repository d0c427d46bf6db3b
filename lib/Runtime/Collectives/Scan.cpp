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

#include "Core/Operations.h"
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

/// Outputs have the inputs' types; a total those of one of a rank's parts.
static Error checkResults(const Descriptor &call, size_t tensors,
                          int64_t perRank, bool hasTotal) {
  for (size_t i = 0; i < tensors; ++i) {
    const Buffer &in = call.in(i);
    List<int64_t> sizes(in.sizes, in.sizes + in.rank);
    if (Error failure = call.expectType(tensors + i, in.dtype, sizes))
      return failure;
    if (!hasTotal)
      continue;
    if (perRank > 1)
      sizes[0] /= perRank;
    if (Error failure = call.expectType(2 * tensors + i, in.dtype, sizes))
      return failure;
  }
  return call.expectNotInPlace();
}

static Error checkDecays(const Descriptor &call) {
  const Buffer &decay = call.in(0), &state = call.in(1);
  if (decay.dtype != DType::F32 && decay.dtype != DType::F64)
    return call.unsupported("scans " + typeText(decay) +
                            ", expected f32 or f64; convert before the scan");
  if (decay.rank <= state.rank && decay.dtype == state.dtype &&
      std::equal(decay.sizes, decay.sizes + decay.rank, state.sizes))
    return std::nullopt;
  return call.invalid("input 0 is " + typeText(decay) + " and input 1 is " +
                      typeText(state) +
                      ", expected one type, and that the decay's sizes begin "
                      "the state's");
}

/// All tensors count the same units in their first dimensions.
static Error checkUnits(const Descriptor &call, int batchDims) {
  const Buffer &first = call.in(0);
  for (size_t i = 0; i < call.numIns(); ++i) {
    const Buffer &in = call.in(i);
    if (in.dtype != first.dtype || in.rank < batchDims ||
        !std::equal(in.sizes, in.sizes + batchDims, first.sizes))
      return call.invalid("input " + std::to_string(i) + " is " + typeText(in) +
                          " and input 0 is " + typeText(first) +
                          ", expected one type, and that the first " +
                          std::to_string(batchDims) + " sizes agree");
  }
  return std::nullopt;
}

/// Whether the summaries of a rank's parts can be told apart.
static Error checkParts(const Descriptor &call, int64_t perRank,
                        int prefixDims) {
  const Buffer &first = call.in(0);
  if (perRank == 1 || (prefixDims > 0 && first.sizes[0] % 2 == 0))
    return std::nullopt;
  return call.invalid("input 0 is " + typeText(first) +
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

/// Elements of a tensor's dimensions from `first` to before `last`.
static int64_t elementsOf(const Buffer &tensor, int first, int last) {
  int64_t elements = 1;
  for (int dim = first; dim < last; ++dim)
    elements *= tensor.sizes[dim];
  return elements;
}

/// The same of tensors that combine in their own way. CPRT_INVALID_ARGUMENT
/// when all of them together, of one unit at least, do not fit 63 bits.
static Error shapeOf(const Sequence &sequence, OwnCombine &own,
                     SummaryShape &shape) {
  const Descriptor &call = own.call;
  const Buffer &first = call.in(0);
  int64_t perRank = sequence.partsPerRank(), unit = 0, bytes = 0;
  int64_t units = elementsOf(first, 0, own.batchDims);
  bool isTooLarge = false;
  own.offsets.push_back(0);
  for (size_t i = 0; i < call.numIns(); ++i) {
    const Buffer &in = call.in(i);
    isTooLarge |= __builtin_add_overflow(
        unit, elementsOf(in, own.batchDims, in.rank), &unit);
    own.offsets.push_back(unit);
  }
  isTooLarge |=
      __builtin_mul_overflow(unit, int64_t(sizeOf(first.dtype)), &bytes);
  isTooLarge |=
      __builtin_mul_overflow(bytes, std::max<int64_t>(units, 1), &bytes);
  if (isTooLarge)
    return call.invalid("the summary's bytes do not fit 63 bits; use smaller "
                        "tensors");
  int64_t elements = unit * units / perRank;
  shape.dtype = first.dtype;
  shape.states = elements;
  shape.statesPerDecay = 1;
  shape.stateBytes = elements * shape.elementBytes();
  shape.perRank = perRank;
  shape.isReverse = sequence.isReverse;
  shape.own = &own;
  return std::nullopt;
}

/// Whether the memory of every algorithm has a size that fits 63 bits, with the
/// scratch memory of a combine.
static bool isCountable(const Scan &scan) {
  int64_t one = 0, all = 0;
  return !__builtin_add_overflow(scan.shape.stateBytes, scan.shape.decayBytes,
                                 &one) &&
         !__builtin_mul_overflow(one, scan.sequence.numParts() + 5, &all);
}

static Error run(const Algorithm &algorithm, const Scan &scan,
                 OwnCombine *own) {
  char *memory = nullptr;
  if (isCountable(scan)) {
    int64_t bytes = algorithm.bytes(scan);
    memory = stagingFor(scan.context, bytes + (own ? scan.shape.bytes() : 0));
    if (own && memory)
      own->scratch = memory + bytes;
  }
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   scan.call.title() +
                       ": no room for the summaries; use the chain, "
                       "which holds one at a time"};
  return algorithm.body(scan, memory);
}

namespace {

/// What all scans have.
struct Attributes {
  int64_t algorithm, batchDims = 0;
  Words axes;
  cp::Cut order;
  bool isReverse, hasTotal;

  template <typename Read>
  explicit Attributes(const Read &read)
      : algorithm(read.algorithm), axes(read.axes), order(read.order),
        isReverse(read.reverse), hasTotal(read.total) {}
};

} // namespace

/// Checks the buffers, and makes of them what is scanned.
static Error checkBuffers(const Descriptor &call, const Attributes &attributes,
                          const Sequence &sequence, OwnCombine *own,
                          SummaryShape &shape) {
  size_t tensors = own ? std::max<size_t>(call.numIns(), 1) : 2;
  if (Error failure = call.expectCounts(
          tensors, attributes.hasTotal ? 2 * tensors : tensors))
    return failure;
  if (Error failure =
          own ? checkUnits(call, own->batchDims) : checkDecays(call))
    return failure;
  int64_t perRank = sequence.partsPerRank();
  if (Error failure =
          checkParts(call, perRank, own ? own->batchDims : call.in(0).rank))
    return failure;
  if (Error failure = checkResults(call, tensors, perRank, attributes.hasTotal))
    return failure;
  if (own)
    return shapeOf(sequence, *own, shape);
  shape = shapeOf(call, sequence);
  return std::nullopt;
}

static Error scanState(Context &context, const Descriptor &call,
                       const Attributes &attributes, cprt_op *combine,
                       bool isOwn) {
  if (Error failure = expectWithin(call, "algorithm", attributes.algorithm, 0,
                                   int64_t(std::size(algorithms)) - 1))
    return failure;
  if (isOwn && !combine)
    return call.invalid("the function that combines is null; hand one over, or "
                        "call cprt_scan_state");
  if (Error failure = expectNeighbours(call, attributes.order))
    return failure;
  Sequence sequence = {attributes.order, 1, attributes.isReverse};
  OwnCombine combination = {
      combine, context, call, int(attributes.batchDims), {}};
  OwnCombine *own = isOwn ? &combination : nullptr;
  SummaryShape shape = {};
  if (Error failure = checkBuffers(call, attributes, sequence, own, shape))
    return failure;
  shape.queue = context.deviceOfCall();
  const Group *group = nullptr;
  if (Error failure = findGroup(context, call, attributes.axes, group))
    return failure;
  sequence.numRanks = group->size;
  return run(algorithms[attributes.algorithm],
             {context, call, *group, shape, sequence, attributes.hasTotal},
             own);
}

Error cp::runtime::operations::scanState(Context &context,
                                         const Descriptor &call) {
  return scanState(context, call, Attributes(ScanStateAttributes(call)),
                   nullptr, /*isOwn=*/false);
}

extern "C" void cprt_scan_state_with(cprt_context *context, cprt_stream *stream,
                                     const int64_t *desc, void *const *buffers,
                                     cprt_op *combine) {
  runOp(context, stream, desc, buffers, signatures::scanStateWith,
        [combine](Context &context, const Descriptor &call) -> Error {
          ScanStateWithAttributes read(call);
          if (Error failure =
                  expectWithin(call, "batch_dims", read.batchDims, 0, maxRank))
            return failure;
          Attributes attributes(read);
          attributes.batchDims = read.batchDims;
          return scanState(context, call, attributes, combine, /*isOwn=*/true);
        });
}
