//===- RingAttention.cpp - Keys that go round -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Operations.h"
#include "KeyRing.h"

using namespace cp::runtime;

namespace {

/// One checked call.
struct RingCall : RingRows {
  AttentionKernels kernels;
};

/// Where everything is in a rank's memory.
struct Staging {
  StagedParts parts;
  KeySlots keys;
  int64_t part = 0, partLse = 0, sums = 0;

  Staging(const Descriptor &call, int64_t numRanks)
      : keys(parts, call.in(1), call.in(2), numRanks) {
    if (numRanks == 1)
      return;
    bool isNarrow = call.out(0).dtype == DType::BF16;
    // Twice as wide.
    auto addSums = [&] {
      int64_t begin = parts.add(numBytes(call.out(0)));
      if (isNarrow)
        parts.add(numBytes(call.out(0)));
      return begin;
    };
    part = addSums();
    partLse = parts.add(numBytes(call.out(1)));
    if (isNarrow)
      sums = addSums();
  }
};

/// This rank's way round, between entering and leaving.
class Ring {
public:
  Ring(Context &context, const Descriptor &call, const RingCall &ring,
       const Staging &at, char *memory)
      : call(call), ring(ring), group(ring.group()),
        exchange(context, call, group, memory),
        blocks(exchange, call, group, at.keys, memory),
        part(call.out(0), memory + at.part),
        partLse(call.out(1), memory + at.partLse),
        sums(call.out(0), memory + at.sums) {}

  Error goRound() {
    if (Error failure = exchange.enter(ownBlock))
      return failure;
    for (int64_t t = 0; t < group.size; ++t)
      if (Error failure = exchange.told(pass(t)))
        return failure;
    return std::nullopt;
  }

private:
  Error pass(int64_t t) {
    if (Error failure = blocks.begin(t))
      return failure;
    if (Error failure = attend(t))
      return failure;
    return blocks.finish(t);
  }
  /// Works on block t and adds it to what there is.
  Error attend(int64_t t) {
    Exchange::Work work(exchange);
    if (t == 0)
      return attendTo(t, call.in(1), call.in(2), result(t), call.out(1));
    Contiguous k = blocks.keys(t), v = blocks.values(t);
    if (Error failure =
            attendTo(t, k.buffer(), v.buffer(), asSum(part), partLse.buffer()))
      return failure;
    const Buffer ins[] = {result(t - 1), call.out(1), asSum(part),
                          partLse.buffer()};
    const Buffer outs[] = {result(t), call.out(1)};
    return ring.kernels.merge(call, {ins, 4, outs, 2, nullptr, 0});
  }

  Error attendTo(int64_t t, const Buffer &k, const Buffer &v, const Buffer &o,
                 const Buffer &lse) {
    auto from = size_t(blocks.around(-t));
    return ring.forEachPart([&](BatchPart batch, const Positions &queries,
                                const Positions &keys) {
      PartOf q(call.in(0), batch), ofK(k, batch), ofV(v, batch), ofO(o, batch),
          ofLse(lse, batch);
      const Buffer *places = placesOf(call);
      PartOf ofPlaces(places ? *places : q.buffer(), batch);
      return attendBlock(ring.kernels, ring.rule, call,
                         {q.buffer(), ofK.buffer(), ofV.buffer(),
                          places ? &ofPlaces.buffer() : nullptr, ofO.buffer(),
                          ofLse.buffer(), queries.own(), keys.runs[from]});
    });
  }

  /// A part of o, in the type that sums.
  static Buffer asSum(const Contiguous &tensor) {
    Buffer buffer = tensor.buffer();
    buffer.dtype = sumType(buffer.dtype);
    return buffer;
  }
  /// Where o is after block t: rounded at the end only.
  Buffer result(int64_t t) const {
    bool isOutput =
        t + 1 == group.size || call.out(0).dtype == sumType(call.out(0).dtype);
    return isOutput ? call.out(0) : asSum(sums);
  }

  const Descriptor &call;
  const RingCall &ring;
  const Group &group;
  Exchange exchange;
  KeyRing blocks;
  KeyRing::OwnBlock ownBlock = {blocks};
  Contiguous part, partLse, sums;
};

} // namespace

static Error readRing(Context &context, const Descriptor &call,
                      RingCall &ring) {
  if (Error failure = checkAttentionBuffers(call))
    return failure;
  RingAttentionAttributes attrs(call);
  if (Error failure =
          readRingRows(context, call, {attrs.causal, attrs.scale, attrs.window},
                       {attrs.axes, attrs.orders}, {placesOf(call), 4}, ring))
    return failure;
  return findAttentionKernels(context, call, ring.kernels);
}

Error cp::runtime::operations::ringAttention(Context &context,
                                             const Descriptor &call) {
  RingCall read;
  if (Error failure = readRing(context, call, read))
    return failure;
  Staging at(call, read.group().size);
  char *memory = at.parts.memoryOf(context);
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no room for two blocks of keys and values "
                                  "and a part of the result; use more ranks"};
  return Ring(context, call, read, at, memory).goRound();
}
