//===- Arguments.cpp - Checked reading of a call's arguments --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace cp::kernels {

static const Buffer emptyBuffer = {nullptr, DType::F32, 0, nullptr, nullptr};

const char *fail(const char *format, ...) {
  static thread_local char text[320];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

const char *outOfMemory(const char *op) {
  return fail("%s: no memory for the kernel's scratch buffers; use shorter "
              "sequences or more ranks",
              op);
}

int64_t numElements(const Buffer &buffer) {
  int64_t count = 1;
  for (int32_t i = 0; i < buffer.rank; ++i)
    count *= buffer.sizes[i];
  return count;
}

void Arguments::expectAttributes(size_t count) {
  if (call.numAttrs != count)
    message = fail("%s: expected %zu attribute words, got %zu; compile the "
                   "program again with this version",
                   op, count, call.numAttrs);
}

int64_t Arguments::word() {
  size_t index = nextWord++;
  return error() || index >= call.numAttrs ? 0 : call.attrs[index];
}

int64_t Arguments::integer(const char *name, int64_t least) {
  int64_t value = word();
  if (!error() && value < least)
    message =
        fail("%s: %s must be at least %lld, got %lld", op, name,
             static_cast<long long>(least), static_cast<long long>(value));
  return value;
}

bool Arguments::flag(const char *name) {
  int64_t value = word();
  if (!error() && value != 0 && value != 1)
    message = fail("%s: %s must be 0 or 1, got %lld", op, name,
                   static_cast<long long>(value));
  return value == 1;
}

double Arguments::real(const char *name) {
  int64_t bits = word();
  double value;
  std::memcpy(&value, &bits, sizeof value);
  if (!error() && std::isnan(value))
    message = fail("%s: %s must be a number, got NaN", op, name);
  return value;
}

void Arguments::expectBuffers(size_t leastIns, size_t ins, size_t leastOuts,
                              size_t outs) {
  if (error() || (call.numIns >= leastIns && call.numIns <= ins &&
                  call.numOuts >= leastOuts && call.numOuts <= outs))
    return;
  char mostIns[32] = "", mostOuts[32] = "";
  if (leastIns != ins)
    std::snprintf(mostIns, sizeof mostIns, " to %zu", ins);
  if (leastOuts != outs)
    std::snprintf(mostOuts, sizeof mostOuts, " to %zu", outs);
  message =
      fail("%s: expected %zu%s inputs and %zu%s outputs, got %zu and %zu", op,
           leastIns, mostIns, leastOuts, mostOuts, call.numIns, call.numOuts);
}

bool Arguments::hasNext() const {
  return !error() && nextIn < call.numIns &&
         call.ins[nextIn].dtype != DType::Absent;
}

const Buffer &Arguments::next(bool isInput, const char *name) {
  if (error())
    return emptyBuffer;
  size_t &cursor = isInput ? nextIn : nextOut;
  if (cursor >= (isInput ? call.numIns : call.numOuts)) {
    message = fail("%s: %s is missing", op, name);
    return emptyBuffer;
  }
  const Buffer &buffer = (isInput ? call.ins : call.outs)[cursor++];
  if (buffer.dtype != DType::Absent)
    return buffer;
  message = fail("%s: %s is left out, but it is not optional; hand it over", op,
                 name);
  return emptyBuffer;
}

void Arguments::expectRank(const Buffer &buffer, const char *name, int32_t low,
                           int32_t high) {
  if (error() || (buffer.rank >= low && buffer.rank <= high))
    return;
  if (low == high)
    message =
        fail("%s: %s must have rank %d, got %d", op, name, low, buffer.rank);
  else
    message = fail("%s: %s must have rank %d to %d, got %d", op, name, low,
                   high, buffer.rank);
}

void Arguments::expectType(const Buffer &buffer, const char *name,
                           DType dtype) {
  if (!error() && buffer.dtype != dtype)
    message =
        fail("%s: %s must be %s, got %s; convert it: all buffers have one "
             "type, except that sums stay f32 beside bf16",
             op, name, dtypeName(dtype), dtypeName(buffer.dtype));
}

void Arguments::expectData(const Buffer &buffer, const char *name) {
  bool isEmpty = false;
  for (int32_t i = 0; i < buffer.rank && !error(); ++i) {
    isEmpty |= buffer.sizes[i] == 0;
    if (buffer.sizes[i] < 0)
      message = fail("%s: dimension %d of %s must not be negative, got %lld",
                     op, i, name, static_cast<long long>(buffer.sizes[i]));
  }
  if (!error() && !isEmpty && !buffer.data)
    message = fail("%s: %s has elements but its pointer is null", op, name);
}

void *Arguments::dataOf(const Buffer &buffer) {
  static char nothing;
  return buffer.data ? buffer.data : &nothing;
}

void Arguments::expectSize(const Buffer &buffer, const char *name, int32_t dim,
                           Dim &expected) {
  if (error())
    return;
  int64_t size = buffer.sizes[dim];
  if (!expected.setBy) {
    expected.size = size;
    expected.setBy = name;
  }
  if (size != expected.size)
    message =
        fail("%s: dimension %d of %s must be %s = %lld as in %s, got %lld", op,
             dim, name, expected.name, static_cast<long long>(expected.size),
             expected.setBy, static_cast<long long>(size));
}

void Arguments::expectSameSizes(const Buffer &buffer, const char *name,
                                const Buffer &other, const char *otherName,
                                int32_t count) {
  if (!error() && buffer.rank != other.rank)
    message = fail("%s: %s must have rank %d as %s, got %d", op, name,
                   other.rank, otherName, buffer.rank);
  for (int32_t i = 0; i < count && !error(); ++i) {
    Dim expected = {"the size", other.sizes[i], otherName};
    expectSize(buffer, name, i, expected);
  }
}

void Arguments::expectAtLeast(const Dim &size, int64_t least) {
  if (!error() && size.size < least)
    message = fail("%s: %s must be at least %lld, got %lld in %s", op,
                   size.name, static_cast<long long>(least),
                   static_cast<long long>(size.size), size.setBy);
}

void Arguments::expectDimension(const char *name, int64_t value, int32_t rank) {
  if (!error() && (value < 0 || value >= rank))
    message = fail("%s: %s must be in [0, %d), the dimensions of the input, "
                   "got %lld",
                   op, name, rank, static_cast<long long>(value));
}

void Arguments::expectDivides(const Dim &size, const Dim &parts) {
  if (error() || (size.size == 0 && parts.size == 0))
    return;
  if (parts.size < 1 || size.size % parts.size != 0)
    message = fail("%s: %s = %lld must be a multiple of %s = %lld", op,
                   size.name, static_cast<long long>(size.size), parts.name,
                   static_cast<long long>(parts.size));
}

const Buffer &Arguments::bind(bool isInput, const char *name, DType dtype,
                              Dim *const *dims, int32_t rank) {
  const Buffer &buffer = next(isInput, name);
  expectRank(buffer, name, rank, rank);
  expectType(buffer, name, dtype);
  expectData(buffer, name);
  for (int32_t i = 0; i < rank; ++i)
    expectSize(buffer, name, i, *dims[i]);
  return buffer;
}

const Buffer &Arguments::anyInput(const char *name, int32_t minRank) {
  const Buffer &buffer = next(true, name);
  expectRank(buffer, name, minRank, maxRank);
  expectData(buffer, name);
  return error() ? emptyBuffer : buffer;
}

const Buffer &Arguments::anyOutput(const char *name, int32_t minRank) {
  const Buffer &buffer = next(false, name);
  expectRank(buffer, name, minRank, maxRank);
  expectData(buffer, name);
  return error() ? emptyBuffer : buffer;
}

} // namespace cp::kernels
