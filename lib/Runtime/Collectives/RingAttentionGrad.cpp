//===- RingAttentionGrad.cpp - Keys' cotangents that go round -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks go round as they do forward. In step t >= 1 a rank adds its terms of
// block t's dk and dv to what the previous one has of them since step t - 1; in
// step 1 it begins. What the previous rank has after the last step is of this
// rank's own block, whose terms it adds then: R - 1 hops for sums as for keys.
// Where sums come by themselves it makes its terms meanwhile and adds them up
// behind that, which gives the same bits.
//
// (Liu et al., "Ring Attention with Blockwise Transformers", 2023, carry the
// sums R hops, the own block first.)
//
//===----------------------------------------------------------------------===//

#include "Core/Operations.h"
#include "Core/World.h"
#include "FlushToZero.h"
#include "KeyRing.h"

using namespace cp::runtime;

namespace {

/// Inputs of the call that it may leave out.
constexpr size_t dlseInput = 6, placesInput = 7, documentsInput = 8;

/// Of the kernel's: where each query stands.
constexpr size_t positionsOfKernel = 8;

/// One checked call.
struct GradCall : RingRows {
  BlockKernel kernel;
  /// Whether the kernel takes numbers too small to be normal for 0.
  bool flushes = false;
};

/// Where everything is in a rank's memory.
struct Staging {
  StagedParts parts;
  KeySlots keys;
  int64_t dk[2] = {}, dv[2] = {}, dkTerms = 0, dvTerms = 0, dq = 0;
  /// Where queries stand, by element of the batch.
  int64_t positions = 0;

  Staging(const Descriptor &call, int64_t numRanks, bool arrivesMeanwhile,
          bool bringsPositions)
      : keys(parts, call.in(1), call.in(2), numRanks) {
    if (bringsPositions)
      positions = parts.add(call.in(0).sizes[0] * call.in(0).sizes[1] *
                            int64_t(sizeof(int64_t)));
    if (numRanks > 1) {
      for (int slot : {0, 1}) {
        dk[slot] = parts.add(numBytes(call.out(1)));
        dv[slot] = parts.add(numBytes(call.out(2)));
      }
      if (arrivesMeanwhile) {
        dkTerms = parts.add(numBytes(call.out(1)));
        dvTerms = parts.add(numBytes(call.out(2)));
      }
      // Sums of bf16, twice as wide; others are made where they stay.
      if (call.out(0).dtype == DType::BF16) {
        dq = parts.add(numBytes(call.out(0)));
        parts.add(numBytes(call.out(0)));
      }
    }
  }
};

/// This rank's way round, between entering and leaving. Step R is the own
/// block's.
class GradRing {
public:
  GradRing(Context &context, const Descriptor &call, const GradCall &grad,
           const Staging &at, char *memory)
      : call(call), grad(grad), group(grad.group()), at(at), memory(memory),
        device(context.deviceOfCall()), exchange(context, call, group, memory),
        blocks(exchange, call, group, at.keys, memory),
        dqSum(call.out(0), memory + at.dq) {}

  /// Before ranks meet.
  Error findPositions() {
    if (!device || !grad.rule.causal || call.in(0).sizes[1] == 0)
      return std::nullopt;
    if (grad.isOfEach)
      return bringPositions();
    const std::vector<int64_t> &rows = grad.queries->ownRows();
    Error failure;
    positions = static_cast<const int64_t *>(device->constant(
        rows.data(), int64_t(rows.size() * sizeof(int64_t)), failure));
    return failure;
  }
  Error goRound() {
    if (Error failure = exchange.enter(ownBlock))
      return failure;
    for (int64_t t = 0; t <= group.size; ++t)
      if (Error failure = exchange.told(step(t)))
        return failure;
    return std::nullopt;
  }

private:
  /// Those of documents, which are others in each batch.
  Error bringPositions() {
    auto *there = reinterpret_cast<int64_t *>(memory + at.positions);
    positions = there;
    return grad.forEachPart([&](BatchPart, const Positions &queries,
                                const Positions &) {
      const std::vector<int64_t> &rows = queries.ownRows();
      Error failure = device->upload(there, rows.data(),
                                     int64_t(rows.size() * sizeof(int64_t)));
      there += rows.size();
      return failure;
    });
  }
  /// Step 0 has no block to work on.
  Error step(int64_t t) {
    if (Error failure = begin(t))
      return failure;
    if (t > 0) {
      if (Error failure = pass(t))
        return failure;
      if (Error failure = handOn(t))
        return failure;
    }
    return finish(t);
  }
  /// Begins to take what step t needs of the previous rank, and the next step's
  /// block.
  Error begin(int64_t t) {
    if (t < group.size)
      if (Error failure = blocks.begin(t))
        return failure;
    return beginSums(t);
  }
  /// The next step's block is there.
  Error finish(int64_t t) {
    return t < group.size ? blocks.finish(t) : std::nullopt;
  }

  /// Works on step t's block.
  Error pass(int64_t t) {
    Exchange::Work work(exchange);
    if (t == group.size)
      return passBlock(t, call.in(1), call.in(2), call.out(1), call.out(2));
    Contiguous k = blocks.keys(t), v = blocks.values(t);
    Contiguous dk = makesTerms(t) ? terms(0) : sums(t, 0);
    Contiguous dv = makesTerms(t) ? terms(1) : sums(t, 1);
    return passBlock(t, k.buffer(), v.buffer(), dk.buffer(), dv.buffer());
  }

  /// Hands on the sums of step t's block.
  Error handOn(int64_t t) {
    if (makesTerms(t))
      if (Error failure = addUp(t))
        return failure;
    if (t == group.size)
      return std::nullopt;
    for (size_t which : {0, 1})
      exchange.offer(blocks.around(1), piece(t, which), Lane::Second);
    return exchange.publish(KeyRing::hasDone(t));
  }

  /// Whether step t's terms are made before the sums that they belong to are
  /// there.
  bool makesTerms(int64_t t) const {
    return t >= 2 && exchange.arrivesMeanwhile();
  }
  Contiguous terms(size_t which) const {
    return Contiguous(call.out(1 + which),
                      memory + (which == 0 ? at.dkTerms : at.dvTerms));
  }
  Error addUp(int64_t t) {
    if (Error failure = takeSums(t))
      return failure;
    Exchange::Work work(exchange);
    for (size_t which : {0, 1}) {
      Contiguous sum = sums(t, which);
      Error failure = t == group.size
                          ? add(call.out(1 + which), sum.buffer())
                          : add(sum.buffer(), terms(which).buffer());
      if (failure)
        return failure;
    }
    return std::nullopt;
  }
  /// As the kernel that is handed what there was of the sums: numbers too small
  /// to be normal too.
  Error add(const Buffer &to, const Buffer &more) const {
    if (device)
      return addOnDevice(to, more);
    std::optional<cp::kernels::FlushToZero> scope;
    if (grad.flushes)
      scope.emplace();
    addMapped(to, more, {});
    return std::nullopt;
  }
  Error addOnDevice(const Buffer &to, const Buffer &more) const {
    // The kernel's, of micro-batches that are not the first.
    static constexpr int64_t notFirst = 1;
    Error failure;
    void *there = device->constant(&notFirst, sizeof notFirst, failure);
    if (failure)
      return failure;
    const Buffer ins[] = {more, to, {there, DType::I64, 0, nullptr, nullptr}};
    return device->run(call, "accumulate", to.dtype,
                       {ins, 3, &to, 1, nullptr, 0});
  }

  /// What there is of step t's dk (`which` 0) or dv.
  Piece piece(int64_t t, size_t which) const {
    const int64_t *slots = which == 0 ? at.dk : at.dv;
    return {slots[size_t(t) % 2], numBytes(call.out(1 + which))};
  }
  char *place(int64_t t, size_t which) const {
    return memory + piece(t, which).offset;
  }
  Contiguous sums(int64_t t, size_t which) const {
    return Contiguous(call.out(1 + which), place(t, which));
  }

  Error beginSums(int64_t t) {
    if (t < 2)
      return std::nullopt;
    int64_t previous = blocks.around(-1), next = blocks.around(1);
    // The slot held step t - 2's, which the next rank took for its t - 1.
    if (t >= 3)
      if (Error failure =
              exchange.await(next, KeyRing::hasDone(t - 1), nullptr, 0))
        return failure;
    if (Error failure = exchange.reclaim(Lane::Second, 2))
      return failure;
    for (size_t which : {0, 1})
      if (Error failure = exchange.expect(previous, piece(t - 1, which),
                                          place(t, which), Lane::Second))
        return failure;
    return makesTerms(t) ? std::nullopt : takeSums(t);
  }
  Error takeSums(int64_t t) {
    for (size_t which : {0, 1})
      if (Error failure = exchange.fetch(
              blocks.around(-1), KeyRing::hasDone(t - 1), piece(t - 1, which),
              place(t, which), Lane::Second))
        return failure;
    return std::nullopt;
  }

  Error passBlock(int64_t t, const Buffer &k, const Buffer &v, const Buffer &dk,
                  const Buffer &dv) {
    const Buffer absent = {nullptr, DType::Absent, 0, nullptr, nullptr};
    auto orAbsent = [&](size_t input) {
      const Buffer *given = optionalInput(call, input);
      return given ? *given : absent;
    };
    Contiguous dkBefore = sums(t, 0), dvBefore = sums(t, 1);
    bool isFirst = t < 2, isAlone = isFirst || makesTerms(t);
    const Buffer ins[] = {call.in(0),
                          k,
                          v,
                          call.in(3),
                          call.in(4),
                          call.in(5),
                          orAbsent(dlseInput),
                          orAbsent(placesInput),
                          absent,
                          isFirst ? absent : dq(t - 1),
                          isAlone ? absent : dkBefore.buffer(),
                          isAlone ? absent : dvBefore.buffer()};
    const Buffer outs[] = {dq(t), dk, dv};
    return grad.forEachPart(
        [&](BatchPart batch, const Positions &queries, const Positions &keys) {
          return runPart(batch, queries, keys.runs[size_t(blocks.around(-t))],
                         ins, outs);
        });
  }
  /// The kernel on a part of the batch, of which all inputs but the positions
  /// of its queries are given.
  template <size_t numIns, size_t numOuts>
  Error runPart(BatchPart batch, const Positions &queries,
                const std::vector<int64_t> &keyRuns,
                const Buffer (&ins)[numIns], const Buffer (&outs)[numOuts]) {
    List<int64_t> words = wordsOf(grad.rule);
    words.reserve(words.size() + 1 + keyRuns.capacity());
    append(words, keyRuns);
    // Views of parts are looked at, and stay where they are.
    std::array<std::optional<PartOf>, numIns + numOuts> parts;
    Buffer partIns[numIns], partOuts[numOuts];
    for (size_t i = 0; i < numIns; ++i)
      partIns[i] = parts[i].emplace(ins[i], batch).buffer();
    for (size_t i = 0; i < numOuts; ++i)
      partOuts[i] = parts[numIns + i].emplace(outs[i], batch).buffer();
    if (grad.rule.causal)
      partIns[positionsOfKernel] = positionsOfQueries(batch, queries);
    return grad.kernel(
        call, {partIns, numIns, partOuts, numOuts, words.data(), words.size()});
  }

  /// Where dq is after step t: rounded at the end only.
  Buffer dq(int64_t t) const {
    DType type = sumType(call.out(0).dtype);
    if (t == group.size || call.out(0).dtype == type)
      return call.out(0);
    Buffer buffer = dqSum.buffer();
    buffer.dtype = type;
    return buffer;
  }

  /// Where each query stands.
  Buffer positionsOfQueries(BatchPart batch, const Positions &queries) const {
    static constexpr int64_t stride = 1, none = 0;
    const std::vector<int64_t> &rows = queries.ownRows();
    const int64_t *data = rows.empty() ? &none : rows.data();
    if (positions)
      data =
          positions + std::max<int64_t>(batch.element, 0) * call.in(0).sizes[1];
    return {const_cast<int64_t *>(data), DType::I64, 1, &call.in(0).sizes[1],
            &stride};
  }

  const Descriptor &call;
  const GradCall &grad;
  const Group &group;
  const Staging &at;
  char *memory;
  DeviceQueue *device;
  Exchange exchange;
  KeyRing blocks;
  KeyRing::OwnBlock ownBlock = {blocks};
  Contiguous dqSum;
  /// Of the queries, on the device if there is one.
  const int64_t *positions = nullptr;
};

} // namespace

/// Types and sizes; see cprt.h.
static Error checkBuffers(const Descriptor &call) {
  for (size_t i : {0, 1, 2})
    if (call.in(i).rank != 4)
      return call.invalid(call.label(i) + " is " + typeText(call.in(i)) +
                          ", expected 4 dimensions: batch, sequence, heads, "
                          "head");
  const Buffer &q = call.in(0), &k = call.in(1), &v = call.in(2);
  int64_t b = q.sizes[0], l = q.sizes[1], hq = q.sizes[2], d = q.sizes[3];
  int64_t s = k.sizes[1], hkv = k.sizes[2], e = v.sizes[3];
  if (Error failure = checkHeads(call, hq, hkv))
    return failure;
  DType type = q.dtype, sums = sumType(q.dtype);
  struct Expected {
    size_t index;
    DType dtype;
    List<int64_t> sizes;
  };
  size_t out = call.numIns();
  const Expected expected[] = {
      {1, type, {b, s, hkv, d}},         {2, type, {b, s, hkv, e}},
      {3, type, {b, l, hq, e}},          {4, sums, {b, hq, l}},
      {5, type, {b, l, hq, e}},          {dlseInput, sums, {b, hq, l}},
      {placesInput, DType::I64, {b, l}}, {out, type, {b, l, hq, d}},
      {out + 1, sums, {b, s, hkv, d}},   {out + 2, sums, {b, s, hkv, e}}};
  for (const Expected &each : expected) {
    bool isOptional = each.index == dlseInput || each.index == placesInput;
    if (isOptional && !optionalInput(call, each.index))
      continue;
    if (Error failure = call.expectType(each.index, each.dtype, each.sizes))
      return failure;
  }
  return std::nullopt;
}

static Error readGrad(Context &context, const Descriptor &call,
                      GradCall &grad) {
  if (Error failure = checkBuffers(call))
    return failure;
  RingAttentionGradAttributes attrs(call);
  if (Error failure = readRingRows(
          context, call, {attrs.causal, attrs.scale, attrs.window},
          {attrs.axes, attrs.orders},
          {optionalInput(call, placesInput), documentsInput}, grad))
    return failure;
  grad.kernel = blockKernel(context, "attention_grad_block", call.in(0).dtype);
  grad.flushes = !grad.kernel.queue &&
                 context.world.kernelSet == cp::kernels::KernelSet::Fast;
  if (!grad.kernel.onHost)
    return call.unsupported("there is no kernel for " + typeText(call.in(0)) +
                            "; use f32, f64 or bf16");
  return std::nullopt;
}

Error cp::runtime::operations::ringAttentionGrad(Context &context,
                                                 const Descriptor &call) {
  GradCall read;
  if (Error failure = readGrad(context, call, read))
    return failure;
  const Group &group = read.group();
  Staging at(call, group.size,
             group.channel && group.channel->arrivesMeanwhile(),
             context.deviceOfCall() && read.isOfEach);
  char *memory = at.parts.memoryOf(context);
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no room for two blocks of keys and values "
                                  "and of their cotangents; use more ranks"};
  GradRing ring(context, call, read, at, memory);
  if (Error failure = ring.findPositions())
    return failure;
  return ring.goRound();
}
