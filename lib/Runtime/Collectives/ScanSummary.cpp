//===- ScanSummary.cpp - What a rank contributes to a scan ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All arithmetic of the scans is here, and is compiled without contraction of
// a * b + c: whether a compiler fuses it must not depend on the loop in which
// it stands, or algorithms that add in the same order would differ. A device
// has kernels that round as it does (kernels/cpu/Kernels.h).
//
//===----------------------------------------------------------------------===//

#include "ScanSummary.h"

#include "Core/Copy.h"
#include "Decay.h"
#include "FlushToZero.h"

#include <algorithm>
#include <cstring>

using namespace cp::runtime;

/// Part `index` of `units` units in `parts` parts in a row, in elements.
static Range partOf(int64_t units, int64_t unit, int64_t parts, int64_t index) {
  int64_t length = units / parts, longer = units % parts;
  int64_t begin = index * length + std::min(index, longer);
  int64_t end = begin + length + (index < longer ? 1 : 0);
  return {begin * unit, end * unit};
}

int64_t SummaryShape::unit() const {
  return own ? std::max<int64_t>(own->offsets.back(), 1) : 1;
}

Range SummaryShape::block(int64_t blocks, int64_t index) const {
  return partOf(units(), unit(), blocks, index);
}

Range SummaryShape::slice(int64_t slices, int64_t index) const {
  return partOf(states / unit(), unit(), slices, index);
}

SlotView::SlotView(const Buffer &all, const SummaryShape &shape, int64_t slot)
    : view(all) {
  if (shape.perRank == 1)
    return;
  std::copy_n(all.sizes, all.rank, sizes.begin());
  std::copy_n(all.strides, all.rank, strides.begin());
  int64_t number = shape.isReverse ? shape.perRank - 1 - slot : slot;
  int64_t offset = sizes[0] ? number * strides[0] : 0;
  sizes[0] /= shape.perRank;
  // A stride that is never taken may be too large to multiply.
  strides[0] = sizes[0] > 1 ? shape.perRank * strides[0] : 0;
  view.data =
      static_cast<char *>(all.data) + offset * int64_t(sizeOf(all.dtype));
  view.sizes = sizes.data();
  view.strides = strides.data();
}

namespace {
/// One tensor of a summary in its memory.
class InSummary {
public:
  /// `like` has its sizes, of one slot, and must outlive it.
  InSummary(const Buffer &like, const char *summary, const SummaryShape &shape,
            size_t tensor);
  InSummary(const InSummary &) = delete;
  InSummary &operator=(const InSummary &) = delete;
  const Buffer &buffer() const { return view; }

private:
  std::array<int64_t, maxRank> strides;
  Buffer view;
};
} // namespace

InSummary::InSummary(const Buffer &like, const char *summary,
                     const SummaryShape &shape, size_t tensor)
    : view(like) {
  int64_t offset = tensor == 0 ? shape.states : 0, step = 1;
  if (shape.own)
    offset = shape.own->offsets[tensor];
  for (int dim = like.rank; dim-- > 0;) {
    if (shape.own && dim == shape.own->batchDims - 1)
      step = shape.unit();
    strides[size_t(dim)] = step;
    step *= like.sizes[dim];
  }
  view.strides = strides.data();
  view.data = const_cast<char *>(summary) + offset * shape.elementBytes();
}

Error cp::runtime::pack(char *summary, const Descriptor &call,
                        const SummaryShape &shape, int64_t slot) {
  for (size_t i = 0; i < shape.numTensors(); ++i) {
    SlotView from(call.in(i), shape, slot);
    InSummary to(from.buffer(), summary, shape, i);
    if (Error failure =
            copyMapped(shape.queue, call, to.buffer(), from.buffer(), {}))
      return failure;
  }
  return std::nullopt;
}

Error cp::runtime::unpack(const char *summary, const Descriptor &call,
                          const SummaryShape &shape, int64_t slot) {
  for (size_t i = 0; i < shape.numTensors(); ++i) {
    SlotView to(call.out(i), shape, slot);
    InSummary from(to.buffer(), summary, shape, i);
    if (Error failure =
            copyMapped(shape.queue, call, to.buffer(), from.buffer(), {}))
      return failure;
  }
  return std::nullopt;
}

Error cp::runtime::unpackTotal(const char *summary, const Descriptor &call,
                               const SummaryShape &shape) {
  for (size_t i = 0; i < shape.numTensors(); ++i) {
    const Buffer &to = call.out(shape.numTensors() + i);
    InSummary from(to, summary, shape, i);
    if (Error failure = copyMapped(shape.queue, call, to, from.buffer(), {}))
      return failure;
  }
  return std::nullopt;
}

/// Appends the buffers that are `count` units of a summary to a descriptor, and
/// their addresses.
static void appendUnits(const SummaryShape &shape, const char *units,
                        int64_t count, List<int64_t> &words,
                        List<void *> &buffers) {
  const OwnCombine &own = *shape.own;
  for (size_t i = 0; i < own.numTensors(); ++i) {
    const Buffer &tensor = own.call.in(i);
    int rank = tensor.rank - own.batchDims;
    const int64_t *sizes = tensor.sizes + own.batchDims;
    words.insert(words.end(), {int64_t(tensor.dtype), rank + 1, count});
    words.insert(words.end(), sizes, sizes + rank);
    size_t first = words.size();
    words.resize(first + size_t(rank) + 1);
    words[first] = shape.unit();
    int64_t step = 1;
    for (int dim = rank; dim-- > 0; step *= sizes[dim])
      words[first + 1 + size_t(dim)] = step;
    buffers.push_back(const_cast<char *>(units) +
                      own.offsets[i] * shape.elementBytes());
  }
}

/// What the summaries' own combine makes of so many units of `left` and
/// `right`, or without these has for no tokens; in its scratch memory.
static const char *combineUnits(const char *left, const char *right,
                                const SummaryShape &shape, int64_t count) {
  const OwnCombine &own = *shape.own;
  if (count == 0)
    return own.scratch;
  int64_t tensors = int64_t(own.numTensors());
  List<int64_t> words = {left ? 2 * tensors : 0, tensors, 0, own.call.id()};
  List<void *> buffers;
  if (left) {
    appendUnits(shape, left, count, words, buffers);
    appendUnits(shape, right, count, words, buffers);
  }
  appendUnits(shape, own.scratch, count, words, buffers);
  own.function(&own.context, nullptr, words.data(), buffers.data());
  return own.scratch;
}

Error cp::runtime::writeIdentity(const Descriptor &call,
                                 const SummaryShape &shape, int64_t slot) {
  static constexpr float ones32[] = {1, 1};
  static constexpr double one64 = 1;
  if (shape.own)
    return unpack(combineUnits(nullptr, nullptr, shape, shape.units()), call,
                  shape, slot);
  const void *one =
      shape.dtype == DType::F32 ? ones32 : static_cast<const void *>(&one64);
  SlotView decays(call.out(0), shape, slot), states(call.out(1), shape, slot);
  if (Error failure = fill(shape.queue, call, decays.buffer(), one))
    return failure;
  return fillZeros(shape.queue, call, states.buffer());
}

namespace {
/// So many elements behind each other.
class Row {
public:
  Row(const SummaryShape &shape, const char *data, int64_t count)
      : count(count),
        view{const_cast<char *>(data), shape.dtype, 1, &this->count, &stride} {}
  Row(const Row &) = delete;
  Row &operator=(const Row &) = delete;
  const Buffer &buffer() const { return view; }

private:
  static constexpr int64_t stride = 1;
  const int64_t count;
  const Buffer view;
};
} // namespace

template <typename T>
static void combineStatesAs(char *resultData, const char *leftData,
                            const char *rightData, const char *decayData,
                            int64_t inner, Range range) {
  T *result = reinterpret_cast<T *>(resultData);
  const T *left = reinterpret_cast<const T *>(leftData);
  const T *right = reinterpret_cast<const T *>(rightData);
  const T *decays = reinterpret_cast<const T *>(decayData);
  for (int64_t done = 0; done < range.length();) {
    int64_t which = (range.begin + done) / inner;
    int64_t end = std::min(range.end, (which + 1) * inner) - range.begin;
    T decay = decays[which];
    bool isStart = cp::kernels::isStart(decay);
    for (; done < end && isStart; ++done)
      result[done] = right[done];
    for (; done < end; ++done)
      result[done] = decay * left[done] + right[done];
  }
}

Error cp::runtime::clearStates(const Descriptor &call, char *states,
                               const SummaryShape &shape, int64_t count) {
  return fillZeros(shape.queue, call, Row(shape, states, count).buffer());
}

static Error combineStatesOnDevice(const Descriptor &call, char *result,
                                   const char *left, const char *right,
                                   const char *decays,
                                   const SummaryShape &shape, Range range) {
  int64_t count = range.length();
  Row leftRow(shape, left, count), rightRow(shape, right, count),
      decayRow(shape, decays, shape.decays), row(shape, result, count);
  const Buffer ins[] = {leftRow.buffer(), rightRow.buffer(), decayRow.buffer()};
  const int64_t attributes[] = {range.begin, shape.statesPerDecay};
  return shape.queue->run(call, "join_states", shape.dtype,
                          {ins, 3, &row.buffer(), 1, attributes, 2});
}

Error cp::runtime::combineStates(const Descriptor &call, char *result,
                                 const char *left, const char *right,
                                 const char *decays, const SummaryShape &shape,
                                 Range range) {
  if (range.length() == 0)
    return std::nullopt;
  if (shape.queue)
    return combineStatesOnDevice(call, result, left, right, decays, shape,
                                 range);
  if (shape.own) {
    std::memcpy(result,
                combineUnits(left, right, shape, range.length() / shape.unit()),
                size_t(range.length() * shape.elementBytes()));
    return std::nullopt;
  }
  kernels::FlushToZero scope;
  auto *typed = shape.dtype == DType::F32 ? combineStatesAs<float>
                                          : combineStatesAs<double>;
  typed(result, left, right, decays, shape.statesPerDecay, range);
  return std::nullopt;
}

template <typename T>
static void multiplyAs(char *resultData, const char *leftData,
                       const char *rightData, int64_t count) {
  T *result = reinterpret_cast<T *>(resultData);
  const T *left = reinterpret_cast<const T *>(leftData);
  const T *right = reinterpret_cast<const T *>(rightData);
  for (int64_t i = 0; i < count; ++i)
    result[i] = cp::kernels::joinedDecay(left[i], right[i]);
}

Error cp::runtime::multiplyDecays(const Descriptor &call, char *result,
                                  const char *left, const char *right,
                                  const SummaryShape &shape, int64_t count) {
  if (count == 0)
    return std::nullopt;
  if (shape.queue) {
    Row leftRow(shape, left, count), rightRow(shape, right, count),
        row(shape, result, count);
    const Buffer ins[] = {leftRow.buffer(), rightRow.buffer()};
    return shape.queue->run(call, "join_decays", shape.dtype,
                            {ins, 2, &row.buffer(), 1, nullptr, 0});
  }
  kernels::FlushToZero scope;
  auto *typed =
      shape.dtype == DType::F32 ? multiplyAs<float> : multiplyAs<double>;
  typed(result, left, right, count);
  return std::nullopt;
}

Error cp::runtime::combine(const Descriptor &call, char *result,
                           const char *left, const char *right,
                           const SummaryShape &shape, Range range) {
  Range states = {std::min(range.begin, shape.states),
                  std::min(range.end, shape.states)};
  Range decays = {std::max(range.begin, shape.states),
                  std::max(range.end, shape.states)};
  int64_t at = states.begin * shape.elementBytes();
  if (Error failure = combineStates(call, result + at, left + at, right + at,
                                    right + shape.stateBytes, shape, states))
    return failure;
  at = decays.begin * shape.elementBytes();
  return multiplyDecays(call, result + at, left + at, right + at, shape,
                        decays.length());
}
