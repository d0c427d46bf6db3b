//===- ScanSummary.cpp - What a rank contributes to a scan ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All arithmetic of the scans is here, and is compiled without contraction of
// a * b + c: whether a compiler fuses it must not depend on the loop in which
// it stands, or algorithms that add in the same order would differ.
//
//===----------------------------------------------------------------------===//

#include "ScanSummary.h"

#include "Copy.h"
#include "FlushToZero.h"

#include <algorithm>

using namespace cp::runtime;

Range cp::runtime::partOf(int64_t size, int64_t parts, int64_t index) {
  int64_t length = size / parts, longer = size % parts;
  int64_t begin = index * length + std::min(index, longer);
  return {begin, begin + length + (index < longer ? 1 : 0)};
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

void cp::runtime::pack(char *summary, const Buffer &decay, const Buffer &state,
                       const SummaryShape &shape, int64_t slot) {
  SlotView states(state, shape, slot), decays(decay, shape, slot);
  const Buffer &from = states.buffer(), &decayFrom = decays.buffer();
  copyWhole(Contiguous(from, summary).buffer(), from);
  copyWhole(Contiguous(decayFrom, summary + shape.stateBytes).buffer(),
            decayFrom);
}

void cp::runtime::pack(char *summary, const Descriptor &call,
                       const SummaryShape &shape, int64_t slot) {
  pack(summary, call.in(0), call.in(1), shape, slot);
}

static void unpack(const char *summary, const Buffer &decays,
                   const Buffer &states, const SummaryShape &shape) {
  char *data = const_cast<char *>(summary);
  copyWhole(states, Contiguous(states, data).buffer());
  copyWhole(decays, Contiguous(decays, data + shape.stateBytes).buffer());
}

void cp::runtime::unpack(const char *summary, const Descriptor &call,
                         const SummaryShape &shape, int64_t slot) {
  SlotView decays(call.out(0), shape, slot), states(call.out(1), shape, slot);
  ::unpack(summary, decays.buffer(), states.buffer(), shape);
}

void cp::runtime::unpackTotal(const char *summary, const Descriptor &call,
                              const SummaryShape &shape) {
  ::unpack(summary, call.out(2), call.out(3), shape);
}

void cp::runtime::writeIdentity(const Descriptor &call,
                                const SummaryShape &shape, int64_t slot) {
  static constexpr float one32 = 1;
  static constexpr double one64 = 1;
  static constexpr double zero = 0;
  bool is32 = shape.dtype == DType::F32;
  fill(SlotView(call.out(0), shape, slot).buffer(),
       is32 ? static_cast<const void *>(&one32) : &one64);
  fill(SlotView(call.out(1), shape, slot).buffer(), &zero);
}

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
    for (; done < end; ++done)
      result[done] = decay * left[done] + right[done];
  }
}

void cp::runtime::combineStates(char *result, const char *left,
                                const char *right, const char *decays,
                                const SummaryShape &shape, Range range) {
  kernels::FlushToZero scope;
  auto *typed = shape.dtype == DType::F32 ? combineStatesAs<float>
                                          : combineStatesAs<double>;
  typed(result, left, right, decays, shape.statesPerDecay, range);
}

template <typename T>
static void multiplyAs(char *resultData, const char *leftData,
                       const char *rightData, int64_t count) {
  T *result = reinterpret_cast<T *>(resultData);
  const T *left = reinterpret_cast<const T *>(leftData);
  const T *right = reinterpret_cast<const T *>(rightData);
  for (int64_t i = 0; i < count; ++i)
    result[i] = left[i] * right[i];
}

void cp::runtime::multiplyDecays(char *result, const char *left,
                                 const char *right, DType dtype,
                                 int64_t count) {
  kernels::FlushToZero scope;
  auto *typed = dtype == DType::F32 ? multiplyAs<float> : multiplyAs<double>;
  typed(result, left, right, count);
}

void cp::runtime::combine(char *result, const char *left, const char *right,
                          const SummaryShape &shape, Range range) {
  Range states = {std::min(range.begin, shape.states),
                  std::min(range.end, shape.states)};
  Range decays = {std::max(range.begin, shape.states),
                  std::max(range.end, shape.states)};
  int64_t at = states.begin * shape.elementBytes();
  combineStates(result + at, left + at, right + at, right + shape.stateBytes,
                shape, states);
  at = decays.begin * shape.elementBytes();
  multiplyDecays(result + at, left + at, right + at, shape.dtype,
                 decays.length());
}
