//===- Tokens.cpp - Labels, positions and lists of documents --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include <algorithm>
#include <cstring>

using namespace cp;
using namespace cp::batch;

namespace {
/// The integers of a stored tensor.
class Integers {
public:
  explicit Integers(Stored &stored)
      : stored(stored), size(int64_t(cprt_dtype_size(stored.dtype))) {}
  int64_t count() const { return int64_t(stored.bytes.size()) / size; }
  int64_t get(int64_t at) const {
    cprt_batch_tensor tensor = {};
    tensor.dtype = stored.dtype;
    tensor.data = stored.bytes.data();
    return intAt(tensor, at);
  }
  void set(int64_t at, int64_t value) {
    setInt(stored.dtype, stored.bytes.data() + at * size, value);
  }

private:
  Stored &stored;
  int64_t size;
};
} // namespace

static Stored integersOf(cprt_dtype dtype, std::vector<int64_t> shape,
                         int sequenceDim) {
  Stored stored = {dtype, std::move(shape), sequenceDim, {}};
  size_t bytes = cprt_dtype_size(dtype);
  for (int64_t size : stored.shape)
    bytes *= size_t(size);
  stored.bytes.resize(bytes);
  return stored;
}

/// Calls fn(first place of the row, document) for each document.
template <typename Fn>
static void forEachDocument(const Stream &stream, Fn fn) {
  for (int64_t row = 0; row < stream.rows; ++row)
    for (const Document &document : stream.documents[size_t(row)])
      fn(row * stream.length, document);
}

/// What stands where no token does is never asked for.
static void finishLabels(const Stream &stream, bool shifts, Stored &stored) {
  Integers labels(stored);
  forEachDocument(stream, [&](int64_t row, const Document &document) {
    int64_t begin = row + document.begin, end = begin + document.tokens;
    if (shifts)
      for (int64_t at = begin; at < end; ++at)
        labels.set(at, at + 1 < end ? labels.get(at + 1) : -100);
    for (int64_t at = end; at < begin + document.slots; ++at)
      labels.set(at, -100);
  });
}

/// A mask goes with the labels that it is of.
static void finishMask(const Stream &stream, bool shifts, Stored &stored) {
  size_t size = cprt_dtype_size(stored.dtype);
  forEachDocument(stream, [&](int64_t row, const Document &document) {
    char *first = stored.bytes.data() + size_t(row + document.begin) * size;
    auto tokens = size_t(document.tokens), slots = size_t(document.slots);
    if (shifts && tokens) {
      --tokens;
      std::memmove(first, first + size, tokens * size);
    }
    std::memset(first + tokens * size, 0, (slots - tokens) * size);
  });
}

/// The one behind, of any number that a caller has as a position.
static int64_t next(int64_t position) {
  return int64_t(uint64_t(position) + 1);
}

/// Places count on in padding, and from 0 in a document of nothing else.
static void finishPositions(const Stream &stream, Stored &stored) {
  Integers positions(stored);
  int64_t each = stream.rows * stream.length;
  for (int64_t first = 0; first < positions.count(); first += each)
    forEachDocument(stream, [&](int64_t row, const Document &document) {
      for (int64_t i = 0; i < document.slots; ++i) {
        int64_t at = row + document.begin + i;
        int64_t source =
            stream.source[size_t(stream.isUniform ? at - row : at)];
        if (source < 0)
          positions.set(first + at,
                        i ? next(positions.get(first + at - 1)) : 0);
      }
    });
}

static Stored makePositions(const Stream &stream) {
  Stored stored = integersOf(CPRT_I64, {stream.rows, stream.length}, 1);
  Integers positions(stored);
  forEachDocument(stream, [&](int64_t row, const Document &document) {
    for (int64_t i = 0; i < document.slots; ++i)
      positions.set(row + document.begin + i, i);
  });
  return stored;
}

void cp::batch::finishTokens(const Stream &stream, const Options &options,
                             Tensors &tensors) {
  auto ids = tensors.find("input_ids");
  if (options.shiftLabels && ids != tensors.end())
    tensors.emplace("labels", ids->second); // unless they are there
  if (auto labels = tensors.find("labels"); labels != tensors.end())
    finishLabels(stream, options.shiftLabels, labels->second);
  if (auto mask = tensors.find("loss_mask"); mask != tensors.end())
    finishMask(stream, options.shiftLabels, mask->second);
  if (auto places = tensors.find("position_ids"); places != tensors.end())
    finishPositions(stream, places->second);
  else
    tensors.emplace("position_ids", makePositions(stream));
}

static Stored maskPadding(const Stream &stream) {
  Stored stored = integersOf(CPRT_I32, {stream.rows, stream.length}, 1);
  Integers mask(stored);
  forEachDocument(stream, [&](int64_t row, const Document &document) {
    for (int64_t i = document.tokens; i < document.slots; ++i)
      mask.set(row + document.begin + i, 1);
  });
  return stored;
}

/// Sums over the documents of each row of what `lengthOf` says of one.
template <typename Fn>
static Stored sumLengths(const Stream &stream, Fn lengthOf) {
  Stored stored = integersOf(CPRT_I32, {stream.rows, stream.capacity + 1}, -1);
  Integers sums(stored);
  for (int64_t row = 0; row < stream.rows; ++row) {
    const std::vector<Document> &list = stream.documents[size_t(row)];
    int64_t sum = 0;
    for (int64_t i = 0; i < stream.capacity; ++i) {
      if (i < int64_t(list.size()))
        sum += lengthOf(list[size_t(i)]);
      sums.set(row * (stream.capacity + 1) + i + 1, sum);
    }
  }
  return stored;
}

static Stored findLongest(const Stream &stream) {
  Stored stored = integersOf(CPRT_I32, {stream.rows}, -1);
  Integers longest(stored);
  for (int64_t row = 0; row < stream.rows; ++row) {
    int64_t most = 0;
    for (const Document &document : stream.documents[size_t(row)])
      most = std::max(most, document.slots);
    longest.set(row, most);
  }
  return stored;
}

static Stored countPlaces(const Stream &stream) {
  Stored stored = integersOf(CPRT_I64, {stream.rows, stream.length}, 1);
  Integers places(stored);
  for (int64_t at = 0; at < places.count(); ++at)
    places.set(at, at % stream.length);
  return stored;
}

void cp::batch::describeRows(const Stream &stream, Tensors &tensors) {
  tensors["padding_mask"] = maskPadding(stream);
  tensors["cu_seqlens"] =
      sumLengths(stream, [](const Document &d) { return d.tokens; });
  tensors["cu_seqlens_padded"] =
      sumLengths(stream, [](const Document &d) { return d.slots; });
  tensors["max_seqlen"] = findLongest(stream);
  tensors["indices"] = countPlaces(stream);
}
