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

#include <algorithm>

using namespace cp::runtime;

Range cp::runtime::partOf(int64_t size, int64_t parts, int64_t index) {
  int64_t length = size / parts, longer = size % parts;
  int64_t begin = index * length + std::min(index, longer);
  return {begin, begin + length + (index < longer ? 1 : 0)};
}

void cp::runtime::pack(char *summary, const Descriptor &call,
                       const SummaryShape &shape) {
  const Buffer &decay = call.in(0), &state = call.in(1);
  copyWhole(Contiguous(state, summary).buffer(), state);
  copyWhole(Contiguous(decay, summary + shape.stateBytes).buffer(), decay);
}

void cp::runtime::unpack(const char *summary, const Descriptor &call,
                         const SummaryShape &shape) {
  char *data = const_cast<char *>(summary);
  const Buffer &decay = call.out(0), &state = call.out(1);
  copyWhole(state, Contiguous(state, data).buffer());
  copyWhole(decay, Contiguous(decay, data + shape.stateBytes).buffer());
}

void cp::runtime::writeIdentity(const Descriptor &call) {
  static constexpr float one32 = 1;
  static constexpr double one64 = 1;
  static constexpr double zero = 0;
  bool is32 = call.out(0).dtype == DType::F32;
  fill(call.out(0), is32 ? static_cast<const void *>(&one32) : &one64);
  fill(call.out(1), &zero);
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
