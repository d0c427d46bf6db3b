//===- Descriptor.cpp - One call, decoded and checked ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Descriptor.h"

#include <algorithm>
#include <cstring>

using namespace cp::runtime;

static constexpr const char *compileAgain =
    "; compile the program with the compiler that belongs to this runtime";

static const char *dtypeName(DType dtype) {
  static constexpr const char *names[] = {"f32", "f64", "bf16", "i32", "i64"};
  return names[static_cast<int>(dtype)];
}

size_t cp::runtime::sizeOf(DType dtype) {
  return cprt_dtype_size(static_cast<cprt_dtype>(dtype));
}

int64_t cp::runtime::numElements(const Buffer &buffer) {
  int64_t count = 1;
  for (int dim = 0; dim < buffer.rank; ++dim)
    count *= buffer.sizes[dim];
  return count;
}

int64_t cp::runtime::numBytes(const Buffer &buffer) {
  return numElements(buffer) * int64_t(sizeOf(buffer.dtype));
}

std::string cp::runtime::typeText(const Buffer &buffer) {
  if (buffer.dtype == DType::Absent)
    return "nothing";
  return dtypeName(buffer.dtype) + listText(buffer.sizes, size_t(buffer.rank));
}

Error Descriptor::decode(const char *op, const int64_t *words,
                         void *const *data) {
  name = op;
  desc = words;
  callId = 0;
  buffers.clear();
  if (Error failure = decodeHeader(desc))
    return failure;
  size_t count = numInputs + size_t(desc[1]);
  if (count && !data)
    return invalid("the list of buffers is null, expected " +
                   std::to_string(count) + " pointers" + compileAgain);
  const int64_t *next = desc + 4;
  for (size_t i = 0; i < count; ++i)
    if (Error failure = decodeBuffer(next, data[i], i))
      return failure;
  attrWords = next;
  return std::nullopt;
}

Error Descriptor::decodeHeader(const int64_t *desc) {
  if (!desc)
    return invalid("the descriptor is null, expected a table of words");
  callId = desc[3];
  auto inRange = [](int64_t n, int64_t most) { return n >= 0 && n <= most; };
  if (!inRange(desc[0], maxBuffers) || !inRange(desc[1], maxBuffers))
    return invalid("the descriptor has " + std::to_string(desc[0]) +
                   " inputs and " + std::to_string(desc[1]) +
                   " outputs, expected 0 to " + std::to_string(maxBuffers) +
                   " of each" + compileAgain);
  if (!inRange(desc[2], maxAttrWords))
    return invalid("the descriptor has " + std::to_string(desc[2]) +
                   " attribute words, expected 0 to " +
                   std::to_string(maxAttrWords) + compileAgain);
  numInputs = size_t(desc[0]);
  numAttrWords = size_t(desc[2]);
  return std::nullopt;
}

Error Descriptor::decodeBuffer(const int64_t *&words, void *data,
                               size_t index) {
  int64_t dtype = words[0], rank = words[1];
  if (dtype == CPRT_ABSENT && rank == 0 && index < numInputs) {
    words += 2;
    buffers.push_back({nullptr, DType::Absent, 0, words, words});
    return std::nullopt;
  }
  if (dtype < CPRT_F32 || dtype > CPRT_I64)
    return invalid(label(index) + " has element type " + std::to_string(dtype) +
                   ", expected a cprt_dtype (0 to 4)" + compileAgain);
  if (rank < 0 || rank > maxRank)
    return invalid(label(index) + " has rank " + std::to_string(rank) +
                   ", expected 0 to " + std::to_string(maxRank) + compileAgain);
  Buffer buffer = {data, static_cast<DType>(dtype), int32_t(rank), words + 2,
                   words + 2 + rank};
  words += 2 + 2 * rank;
  if (Error failure = checkExtent(buffer, index))
    return failure;
  if (Error failure = checkMemory(buffer, index))
    return failure;
  buffers.push_back(buffer);
  return std::nullopt;
}

/// The elements' count and the last one's byte offset must fit 63 bits. Sizes
/// count as at least 1 so that empty buffers are held to the same rule.
Error Descriptor::checkExtent(const Buffer &buffer, size_t index) const {
  int64_t bytes = int64_t(sizeOf(buffer.dtype)), last = 0;
  bool overflow = false;
  for (int dim = 0; dim < buffer.rank; ++dim) {
    int64_t size = buffer.sizes[dim], stride = buffer.strides[dim];
    if (size < 0 || stride < 0)
      return invalid(label(index) + ", dim " + std::to_string(dim) +
                     " has size " + std::to_string(size) + " and stride " +
                     std::to_string(stride) + ", expected neither below 0" +
                     compileAgain);
    int64_t step = std::max<int64_t>(size, 1);
    overflow |= __builtin_mul_overflow(bytes, step, &bytes);
    overflow |= __builtin_mul_overflow(stride, step - 1, &stride);
    overflow |= __builtin_add_overflow(last, stride, &last);
  }
  overflow |= last >= INT64_MAX / 8 - 1;
  if (overflow)
    return invalid(label(index) + " has sizes " +
                   listText(buffer.sizes, size_t(buffer.rank)) +
                   " and strides " +
                   listText(buffer.strides, size_t(buffer.rank)) +
                   ", expected byte offsets that fit 63 bits" + compileAgain);
  return std::nullopt;
}

Error Descriptor::checkMemory(const Buffer &buffer, size_t index) const {
  if (numElements(buffer) == 0)
    return std::nullopt;
  if (!buffer.data)
    return invalid(label(index) + " is null, expected " + typeText(buffer) +
                   "; hand over memory for it");
  if (reinterpret_cast<uintptr_t>(buffer.data) % sizeOf(buffer.dtype))
    return invalid(label(index) + " is not aligned to its elements, expected " +
                   "an address that " + std::to_string(sizeOf(buffer.dtype)) +
                   " divides");
  for (int dim = 0; dim < buffer.rank; ++dim)
    if (index >= numInputs && buffer.sizes[dim] > 1 && !buffer.strides[dim])
      return invalid(label(index) + ", dim " + std::to_string(dim) +
                     " has stride 0 and size " +
                     std::to_string(buffer.sizes[dim]) +
                     ", expected an output whose elements do not overlap");
  return std::nullopt;
}

std::string Descriptor::label(size_t buffer) const {
  return buffer < numInputs ? "input " + std::to_string(buffer)
                            : "output " + std::to_string(buffer - numInputs);
}

std::string cp::runtime::title(const char *op, int64_t id) {
  return std::string(op) + " (call " + std::to_string(id) + ")";
}

std::string Descriptor::describe() const {
  std::string text = title() + " ins";
  for (size_t i = 0; i < numInputs; ++i)
    text += " " + typeText(in(i));
  text += " outs";
  for (size_t i = 0; i < numOuts(); ++i)
    text += " " + typeText(out(i));
  return text + " attrs " + listText(attrWords, numAttrWords);
}

static bool sameType(const Buffer &a, const Buffer &b) {
  return a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(a.sizes, a.sizes + a.rank, b.sizes);
}

bool Descriptor::sameAs(const Descriptor &other) const {
  return std::strcmp(name, other.name) == 0 && callId == other.callId &&
         numInputs == other.numInputs && numAttrWords == other.numAttrWords &&
         std::equal(attrWords, attrWords + numAttrWords, other.attrWords) &&
         std::equal(buffers.begin(), buffers.end(), other.buffers.begin(),
                    other.buffers.end(), sameType);
}

Failure Descriptor::invalid(const std::string &text) const {
  return {CPRT_INVALID_ARGUMENT, title() + ": " + text};
}

Failure Descriptor::unsupported(const std::string &text) const {
  return {CPRT_UNSUPPORTED, title() + ": " + text};
}

Error Descriptor::expectCounts(size_t ins, size_t outs) const {
  if (numIns() == ins && numOuts() == outs)
    return std::nullopt;
  return invalid("found " + std::to_string(numIns()) + " inputs and " +
                 std::to_string(numOuts()) + " outputs, expected " +
                 std::to_string(ins) + " and " + std::to_string(outs) +
                 compileAgain);
}

Error Descriptor::expectType(size_t index, DType dtype,
                             const List<int64_t> &sizes) const {
  const Buffer &buffer = buffers[index];
  if (buffer.dtype == dtype &&
      std::equal(sizes.begin(), sizes.end(), buffer.sizes,
                 buffer.sizes + buffer.rank))
    return std::nullopt;
  return invalid(label(index) + " is " + typeText(buffer) + ", expected " +
                 dtypeName(dtype) + listText(sizes.data(), sizes.size()) +
                 "; compile the program for this mesh and these shapes");
}

Error Descriptor::expectNotInPlace() const {
  for (size_t o = 0; o < numOuts(); ++o)
    for (size_t i = 0; i < numIns(); ++i)
      if (out(o).data && out(o).data == in(i).data)
        return invalid(label(numInputs + o) + " is the memory of " + label(i) +
                       ", expected separate buffers: peers read the input "
                       "while the output is written");
  return std::nullopt;
}
