//===- RingAttention.cpp - Keys that go round -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block t is what a rank meets in step t: its own keys and values in step 0,
// then those of ever earlier positions, going round. A rank takes block t + 1
// from the previous one before it works on block t, and hands it on from the
// slot it has put it in. There are two slots, so a rank may be one block ahead
// of the next: what it publishes is how many blocks it has taken, which says
// both what the next one can take from it and what the previous one may write
// over.
//
//===----------------------------------------------------------------------===//

#include "Core/Attention.h"
#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Exchange.h"

#include <algorithm>

using namespace cp::runtime;

namespace {

/// One checked call.
struct RingCall {
  AttentionRule rule;
  const Positions *queries = nullptr, *keys = nullptr;
  AttentionKernels kernels;

  const Group &group() const { return *keys->group; }
};

/// Where everything is in a rank's memory; the same on all ranks. Blocks come
/// first: peers read them.
struct Staging {
  int64_t values = 0, block = 0, part = 0, partLse = 0, sums = 0, end = 0;
  /// False when that does not fit 63 bits.
  bool fits = true;

  Staging(const Descriptor &call, const RingCall &ring) {
    int64_t ranks = ring.group().size;
    values = add(0, numBytes(call.in(1)));
    block = add(values, numBytes(call.in(2)));
    for (int64_t slot = 0; slot < std::min<int64_t>(ranks - 1, 2); ++slot)
      part = add(part, block);
    bool isNarrow = call.out(0).dtype == DType::BF16;
    int64_t sumBytes =
        add(numBytes(call.out(0)), isNarrow ? numBytes(call.out(0)) : 0);
    partLse = add(part, ranks > 1 ? sumBytes : 0);
    sums = add(partLse, ranks > 1 ? numBytes(call.out(1)) : 0);
    end = add(sums, ranks > 1 && isNarrow ? sumBytes : 0);
  }
  /// Bytes from the start of the memory to block `t` >= 1.
  int64_t slotOf(int64_t t) const { return (t - 1) % 2 * block; }

private:
  /// Rounded up to what any element is aligned to.
  int64_t add(int64_t begin, int64_t bytes) {
    int64_t sum = 0;
    fits &= !__builtin_add_overflow(begin, bytes, &sum) &&
            !__builtin_add_overflow(sum, 63, &sum);
    return fits ? sum / 64 * 64 : 0;
  }
};

/// This rank's way round, between entering and leaving.
class Ring {
public:
  Ring(Context &context, const Descriptor &call, const RingCall &ring,
       const Staging &at, char *memory)
      : call(call), ring(ring), group(ring.group()), at(at), memory(memory),
        exchange(context, call, group), part(call.out(0), memory + at.part),
        partLse(call.out(1), memory + at.partLse),
        sums(call.out(0), memory + at.sums) {
    exchange.setSummary(memory);
  }

  Error enter() { return exchange.enter(); }

  /// Takes block t + 1, when there is one.
  Error take(int64_t t) {
    if (t + 1 == group.size)
      return std::nullopt;
    int64_t previous = around(-1), next = around(1);
    if (Error failure = exchange.await(previous, uint64_t(t)))
      return failure;
    // The slot held block t - 1, which is the next rank's block t.
    if (t >= 2)
      if (Error failure = exchange.await(next, uint64_t(t)))
        return failure;
    char *from = const_cast<char *>(exchange.summary(previous));
    for (size_t i : {1, 2}) {
      Contiguous to(call.in(i), blockAt(memory, t + 1, i));
      if (t == 0)
        exchange.took(previous,
                      copyWhole(to.buffer(), exchange.input(previous, i)));
      else
        exchange.took(
            previous,
            copyWhole(to.buffer(),
                      Contiguous(call.in(i), blockAt(from, t, i)).buffer()));
    }
    exchange.publish(uint64_t(t + 1));
    return std::nullopt;
  }

  /// Works on block t and adds it to what there is. Null, or what is wrong.
  const char *attend(int64_t t) {
    const std::vector<int64_t> &keyRuns = ring.keys->runs[size_t(around(-t))];
    auto block = [&](const Buffer &k, const Buffer &v, const Buffer &o,
                     const Buffer &lse) {
      return attendBlock(ring.kernels, ring.rule, call, ring.queries->own(), k,
                         v, keyRuns, o, lse);
    };
    if (t == 0)
      return block(call.in(1), call.in(2), result(t), call.out(1));
    Contiguous k(call.in(1), blockAt(memory, t, 1));
    Contiguous v(call.in(2), blockAt(memory, t, 2));
    if (const char *wrong =
            block(k.buffer(), v.buffer(), asSum(part), partLse.buffer()))
      return wrong;
    const Buffer ins[] = {result(t - 1), call.out(1), asSum(part),
                          partLse.buffer()};
    const Buffer outs[] = {result(t), call.out(1)};
    return ring.kernels.merge({ins, 4, outs, 2, nullptr, 0});
  }

private:
  int64_t around(int64_t offset) const {
    return (group.position + offset + group.size) % group.size;
  }
  char *blockAt(char *base, int64_t t, size_t input) const {
    return base + at.slotOf(t) + (input == 1 ? 0 : at.values);
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
  const Staging &at;
  char *memory;
  Exchange exchange;
  Contiguous part, partLse, sums;
};

} // namespace

static Error readRing(Context &context, const Descriptor &call,
                      RingCall &ring) {
  if (Error failure = checkAttentionBuffers(call))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  RingAttentionAttributes attrs(call);
  ring.rule = {attrs.causal, attrs.scale, attrs.window};
  SequenceCut cut = {attrs.axes, attrs.orders};
  if (Error failure = findPositions(context, call, "", cut, call.in(0).sizes[1],
                                    ring.queries))
    return failure;
  if (Error failure =
          findPositions(context, call, "", cut, call.in(1).sizes[1], ring.keys))
    return failure;
  if (Error failure =
          checkAttentionRule(call, ring.rule, *ring.queries, *ring.keys))
    return failure;
  return findAttentionKernels(context, call, ring.kernels);
}

Error cp::runtime::operations::ringAttention(Context &context,
                                             const Descriptor &call) {
  RingCall read;
  if (Error failure = readRing(context, call, read))
    return failure;
  Staging at(call, read);
  char *memory = at.fits ? context.memory.staging(at.end) : nullptr;
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no room for two blocks of keys and values "
                                  "and a part of the result; use more ranks"};
  Ring ring(context, call, read, at, memory);
  if (Error failure = ring.enter())
    return failure;
  for (int64_t t = 0; t < read.group().size; ++t) {
    if (Error failure = ring.take(t))
      return failure;
    if (const char *wrong = ring.attend(t)) {
      Failure failure{CPRT_OUT_OF_MEMORY, call.title() + ": " + wrong};
      // Before leaving, for which the peers must know not to wait for blocks.
      context.fail(failure.status, failure.message);
      return failure;
    }
  }
  return std::nullopt;
}
