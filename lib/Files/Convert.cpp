//===- Convert.cpp - Elements in another type -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/Convert.h"

#include "FileIO.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace cp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// A type of bits without a C++ type of its own.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

} // namespace

static double widen(F16 value) {
  uint64_t sign = uint64_t(value.bits >> 15) << 63;
  uint64_t exponent = value.bits >> 10 & 31, mantissa = value.bits & 1023;
  // Subnormals are multiples of 2^-24.
  if (exponent == 0)
    return std::copysign(double(mantissa) * 0x1p-24, sign ? -1.0 : 1.0);
  uint64_t wide = exponent == 31 ? 2047 : exponent - 15 + 1023;
  return llvm::bit_cast<double>(sign | wide << 52 | mantissa << 42);
}
static double widen(BF16 value) {
  return llvm::bit_cast<float>(uint32_t(value.bits) << 16);
}
static double widen(float value) { return value; }
static double widen(double value) { return value; }

static void narrow(double value, double &out) { out = value; }
static void narrow(double value, float &out) { out = float(value); }

/// By way of a float, which rounds to odd so that the second rounding is the
/// only one (Boldo and Melquiond 2005).
uint16_t cp::roundToBF16(double value) {
  float near = float(value);
  uint32_t bits = llvm::bit_cast<uint32_t>(near);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  if (double(near) != value) {
    if (std::abs(double(near)) > std::abs(value))
      --bits;
    bits |= 1;
  }
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void narrow(double value, BF16 &out) { out.bits = roundToBF16(value); }

template <typename T> static T load(const uint8_t *from) {
  return llvm::support::endian::read<T, llvm::endianness::little>(from);
}
template <> F16 load<F16>(const uint8_t *from) {
  return {load<uint16_t>(from)};
}
template <> BF16 load<BF16>(const uint8_t *from) {
  return {load<uint16_t>(from)};
}

template <typename T> static void store(uint8_t *to, T value) {
  llvm::support::endian::write<T, llvm::endianness::little>(to, value);
}
template <> void store<BF16>(uint8_t *to, BF16 value) { store(to, value.bits); }

static Error outOfRange(StringRef label, size_t index, const Twine &value,
                        DType to) {
  return makeError(label + ": element " + Twine(index) +
                   ": expected a number "
                   "that " +
                   dtypeName(to) + " has, got " + value);
}

template <typename From, typename To>
static Error convertFloats(ArrayRef<uint8_t> in, DType to, StringRef label,
                           Bytes &out) {
  size_t count = in.size() / sizeof(From);
  out.resize(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    double value = widen(load<From>(in.data() + i * sizeof(From)));
    To result;
    narrow(value, result);
    if (std::isinf(widen(result)) && !std::isinf(value))
      return outOfRange(label, i, llvm::formatv("{0:e6}", value).str(), to);
    store(out.data() + i * sizeof(To), result);
  }
  return Error::success();
}

template <typename From, typename To>
static Error convertIntegers(ArrayRef<uint8_t> in, DType to, StringRef label,
                             Bytes &out) {
  size_t count = in.size() / sizeof(From);
  out.resize(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    auto value = int64_t{load<From>(in.data() + i * sizeof(From))};
    if (value < std::numeric_limits<To>::min() ||
        value > std::numeric_limits<To>::max())
      return outOfRange(label, i, Twine(value), to);
    store(out.data() + i * sizeof(To), To(value));
  }
  return Error::success();
}

using Converter = Error (*)(ArrayRef<uint8_t>, DType, StringRef, Bytes &);

template <typename From> static Converter floatsFrom(DType to) {
  if (to == DType::F64)
    return convertFloats<From, double>;
  if (to == DType::F32)
    return convertFloats<From, float>;
  return to == DType::BF16 ? convertFloats<From, BF16> : nullptr;
}

template <typename From> static Converter integersFrom(DType to) {
  if (to == DType::I64)
    return convertIntegers<From, int64_t>;
  return to == DType::I32 ? convertIntegers<From, int32_t> : nullptr;
}

/// What converts them, or null.
static Converter converterOf(DType from, DType to) {
  switch (from) {
  case DType::F16:
    return floatsFrom<F16>(to);
  case DType::BF16:
    return floatsFrom<BF16>(to);
  case DType::F32:
    return floatsFrom<float>(to);
  case DType::F64:
    return floatsFrom<double>(to);
  case DType::U8:
    return integersFrom<uint8_t>(to);
  case DType::I8:
    return integersFrom<int8_t>(to);
  case DType::U16:
    return integersFrom<uint16_t>(to);
  case DType::I16:
    return integersFrom<int16_t>(to);
  case DType::U32:
    return integersFrom<uint32_t>(to);
  case DType::I32:
    return integersFrom<int32_t>(to);
  case DType::I64:
    return integersFrom<int64_t>(to);
  case DType::U64:
  case DType::Bool:
    return nullptr;
  }
  return nullptr;
}

bool cp::isConvertible(DType from, DType to) {
  return from == to || converterOf(from, to);
}

bool cp::isExact(DType from, DType to) {
  return from == to || dtypeBytes(from) < dtypeBytes(to);
}

Expected<Bytes> cp::convertElements(ArrayRef<uint8_t> bytes, DType from,
                                    DType to, StringRef label) {
  if (from == to)
    return Bytes(bytes.begin(), bytes.end());
  Bytes out;
  if (Error error = converterOf(from, to)(bytes, to, label, out))
    return error;
  return out;
}
