//===- Options.cpp - How a batch is padded, packed and cut ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Core/CText.h"

#include <cstddef>
#include <numeric>

using namespace cp;
using namespace cp::batch;

/// What an option may be at most: the least common multiple of two and so many
/// ranks still is an int64_t.
static constexpr int64_t maxRanks = 1 << 16, maxStep = 1 << 20,
                         maxTokens = INT32_MAX;

Failure cp::batch::refuse(int number, std::string text) {
  return {CPRT_INVALID_ARGUMENT,
          "batch_c" + std::to_string(number) + ": " + std::move(text)};
}

int64_t cp::batch::roundUp(int64_t number, int64_t step) {
  return (number + step - 1) / step * step;
}

namespace {
struct Range {
  const char *name;
  int64_t value, least, most;
};
} // namespace

static Error checkRange(const Range &range) {
  if (range.value >= range.least && range.value <= range.most)
    return std::nullopt;
  return refuse(1, std::string("the option ") + range.name + " is " +
                       std::to_string(range.value) + ", expected " +
                       std::to_string(range.least) + " to " +
                       std::to_string(range.most));
}

/// A C caller may have stored any number: copied, not read as an enum.
template <typename Enum> static int64_t numberOf(const Enum &value) {
  int number = 0;
  static_assert(sizeof(number) == sizeof(value));
  std::memcpy(&number, &value, sizeof(number));
  return int64_t(number);
}

static Error checkRanges(const cprt_batch_options &read) {
  const Range ranges[] = {
      {"ranks", read.ranks, 1, maxRanks},
      {"order (a cprt_batch_order)", numberOf(read.order), 0, 2},
      {"format (a cprt_batch_format: bshd or thd)", numberOf(read.format), 0,
       1},
      {"unit", read.unit, 0, maxStep},
      {"per_document", read.per_document, 0, 1},
      {"pad_multiple", read.pad_multiple, 0, maxStep},
      {"length", read.length, 0, maxTokens},
      {"chunks", read.chunks, 0, maxTokens},
      {"documents", read.documents, 0, maxTokens},
      {"shift_labels", read.shift_labels, 0, 1}};
  for (const Range &range : ranges)
    if (Error failure = checkRange(range))
      return failure;
  if (read.unit > 1 && read.order != CPRT_BATCH_STRIPED)
    return refuse(1, "the option unit is " + std::to_string(read.unit) +
                         ", but only the striped order has runs");
  if (read.chunks > 1 && read.format != CPRT_BATCH_THD)
    return refuse(1, "the option chunks is " + std::to_string(read.chunks) +
                         ", but only the format thd packs rows");
  if (read.sentinel > 0)
    return refuse(1, "the option sentinel is " + std::to_string(read.sentinel) +
                         ", which is a length; take a number below 0");
  return std::nullopt;
}

static void takeCut(const cprt_batch_options &read, Options &options) {
  static_assert(CPRT_BATCH_CONTIGUOUS == int(Order::Contiguous) &&
                CPRT_BATCH_ZIGZAG == int(Order::Zigzag) &&
                CPRT_BATCH_STRIPED == int(Order::Striped));
  options.ranks = read.ranks;
  options.cut.order = Order(int64_t(read.order));
  options.cut.unit = read.unit ? read.unit : 1;
  int64_t blocks = options.cut.order == Order::Zigzag ? 2 : options.cut.unit;
  options.divisor = read.ranks == 1 ? 1 : read.ranks * blocks;
  options.padTo =
      std::lcm(options.divisor,
               read.ranks * (read.pad_multiple ? read.pad_multiple : 1));
}

Error cp::batch::readOptions(const cprt_batch_options *given,
                             Options &options) {
  cprt_batch_options read = {};
  if (Error failure = runtime::readSizedOptions(
          given, sizeof(read), "cprt_batch_options", &read, sizeof(read)))
    return refuse(1, failure->message);
  if (Error failure = checkRanges(read))
    return failure;
  takeCut(read, options);
  options.packs = read.format == CPRT_BATCH_THD;
  options.perDocument = read.per_document;
  options.shiftLabels = read.shift_labels;
  options.length = read.length;
  options.documents = read.documents;
  options.chunks = read.chunks ? read.chunks : 1;
  options.paddingId = read.padding_id;
  options.sentinel = read.sentinel ? read.sentinel : -1000;
  if (options.length % options.padTo)
    return refuse(6, "the option length is " + std::to_string(read.length) +
                         ", which order and pad_multiple do not cut for " +
                         std::to_string(read.ranks) +
                         " ranks; take a multiple of " +
                         std::to_string(options.padTo));
  return std::nullopt;
}
