//===- Stream.cpp - Rows as ranks hold them -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stream.h"

#include "cp/Layout/Runs.h"

#include <algorithm>

using namespace cp;
using namespace cp::batch;

/// A document of a padded row, and where its places come from: `available` of
/// them are the caller's, from `source` on.
namespace {
struct Placed {
  Document document;
  int64_t source, available;
  /// No document of the caller's but what is behind them.
  bool isTail;
};
using PlacedRow = std::vector<Placed>;
} // namespace

static int64_t endOf(const PlacedRow &row) {
  return row.empty() ? 0
                     : row.back().document.begin + row.back().document.slots;
}

static void place(PlacedRow &row, int64_t tokens, int64_t slots, int64_t source,
                  int64_t available, bool isTail = false) {
  row.push_back({{endOf(row), tokens, slots}, source, available, isTail});
}

/// Cut alone, a document must divide; whose padding is ours to choose gets it.
static Error slotsOf(const Document &document, const Documents &documents,
                     const Options &options, const std::string &where,
                     int64_t &slots) {
  slots = document.slots;
  if (!options.perDocument)
    return std::nullopt;
  if (!documents.slotsAreGiven) {
    slots = roundUp(slots, options.padTo);
    if (slots <= INT32_MAX)
      return std::nullopt;
    return refuse(6, where + " takes " + std::to_string(slots) +
                         " places with its padding, expected at most 2^31 - 1; "
                         "take fewer ranks, a smaller unit or pad_multiple");
  }
  if (slots % options.divisor == 0)
    return std::nullopt;
  return refuse(6, where + " takes " + std::to_string(slots) +
                       " places, which the order does not cut for " +
                       std::to_string(options.ranks) + " ranks; pad it to " +
                       std::to_string(roundUp(slots, options.divisor)) +
                       ", or leave seq_lens_padded out and have it padded");
}

/// The caller's row behind what `placed` already holds.
static Error addRow(int64_t row, const Fields &fields,
                    const Documents &documents, const Options &options,
                    PlacedRow &placed) {
  const std::vector<Document> &list = documents.rows[size_t(row)];
  int64_t first = row * fields.length, used = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const Document &document = list[i];
    int64_t slots = 0;
    std::string where =
        "row " + std::to_string(row) + ": document " + std::to_string(i);
    if (Error failure = slotsOf(document, documents, options, where, slots))
      return failure;
    place(placed, document.tokens, slots, first + document.begin,
          document.slots);
    used = document.begin + document.slots;
  }
  // Tokens do not move, unless documents are padded: then what is behind the
  // last one is no use to anybody.
  int64_t tail = fields.length - used;
  bool repads = options.perDocument && !documents.slotsAreGiven;
  if (tail && !repads)
    place(placed, 0,
          options.perDocument ? roundUp(tail, options.divisor) : tail,
          first + used, tail, /*isTail=*/true);
  return std::nullopt;
}

/// All rows get one length, by padding behind their last document: a row that
/// is one document, and no list says so, ends where its padding does.
static Error level(const Documents &documents, const Options &options,
                   std::vector<PlacedRow> &rows, int64_t &length) {
  int64_t longest = 1; // also where no row has a token
  size_t which = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    if (endOf(rows[i]) > longest) {
      longest = endOf(rows[i]);
      which = i;
    }
  length = options.length ? options.length : roundUp(longest, options.padTo);
  if (length < longest)
    return refuse(6, "row " + std::to_string(which) + " of the result takes " +
                         std::to_string(longest) +
                         " places, but the option length is " +
                         std::to_string(length) + "; give a larger one");
  constexpr int64_t mostInAll = int64_t(1) << 40;
  if (length > INT32_MAX || int64_t(rows.size()) > mostInAll / length)
    return refuse(6, std::to_string(rows.size()) + " rows take " +
                         std::to_string(length) +
                         " places each with their padding, expected at most "
                         "2^31 - 1, and 2^40 in all");
  for (PlacedRow &row : rows) {
    int64_t missing = length - endOf(row);
    if (!missing)
      continue;
    bool grows = !row.empty() &&
                 (row.back().isTail || (!documents.areGiven && !options.packs));
    if (grows)
      row.back().document.slots += missing;
    else
      place(row, 0, missing, 0, 0, /*isTail=*/true);
  }
  return std::nullopt;
}

static Error countDocuments(const std::vector<PlacedRow> &rows,
                            const Options &options, Stream &stream) {
  stream.capacity = options.documents;
  for (size_t row = 0; row < rows.size(); ++row) {
    auto count = int64_t(rows[row].size());
    if (options.documents && count > options.documents)
      return refuse(8, "row " + std::to_string(row) + " of the result has " +
                           std::to_string(count) +
                           " documents, what is behind the last included, but "
                           "the option documents is " +
                           std::to_string(options.documents) +
                           "; give a larger one, and import the program with "
                           "as many");
    stream.capacity = std::max(stream.capacity, count);
  }
  return std::nullopt;
}

static void mapSources(const std::vector<PlacedRow> &rows, Stream &stream) {
  stream.source.assign(size_t(stream.rows * stream.length), -1);
  for (size_t row = 0; row < rows.size(); ++row) {
    stream.documents.emplace_back();
    for (const Placed &placed : rows[row]) {
      const Document &document = placed.document;
      stream.documents.back().push_back(document);
      int64_t at = int64_t(row) * stream.length + document.begin;
      int64_t count = std::min(document.slots, placed.available);
      for (int64_t i = 0; i < count; ++i)
        stream.source[size_t(at + i)] = placed.source + i;
    }
  }
}

/// Appends what the rank holds of the places [begin, begin + count).
static void appendPlaces(const Options &options, int64_t rank, int64_t begin,
                         int64_t count, std::vector<int64_t> &places) {
  for (const Run &run : runsOf(options.cut, options.ranks, rank, count))
    run.forEach([&](int64_t global, int64_t, int64_t length) {
      for (int64_t i = 0; i < length; ++i)
        places.push_back(begin + global + i);
    });
}

static void mapPlaces(const Options &options, Stream &stream) {
  int64_t lines = stream.isUniform ? 1 : stream.rows;
  stream.place.reserve(size_t(lines * stream.length));
  for (int64_t rank = 0; rank < stream.ranks; ++rank)
    for (int64_t row = 0; row < lines; ++row) {
      if (!options.perDocument) {
        appendPlaces(options, rank, 0, stream.length, stream.place);
        continue;
      }
      for (const Document &document : stream.documents[size_t(row)])
        appendPlaces(options, rank, document.begin, document.slots,
                     stream.place);
    }
}

Error cp::batch::makeStream(const Fields &fields, const Documents &documents,
                            const Options &options, Stream &stream) {
  if (fields.rows % options.chunks)
    return refuse(7, std::to_string(fields.rows) +
                         " rows are not divided by chunks, which is " +
                         std::to_string(options.chunks) +
                         "; no row is dropped, so give a divisor");
  stream.rows = options.packs ? options.chunks : fields.rows;
  std::vector<PlacedRow> rows{size_t(stream.rows)};
  int64_t each = fields.rows / stream.rows;
  for (int64_t row = 0; row < fields.rows; ++row)
    if (Error failure =
            addRow(row, fields, documents, options, rows[size_t(row / each)]))
      return failure;
  if (Error failure = level(documents, options, rows, stream.length))
    return failure;
  if (Error failure = countDocuments(rows, options, stream))
    return failure;
  stream.originalRows = fields.rows;
  stream.originalLength = fields.length;
  stream.ranks = options.ranks;
  stream.localLength = stream.length / options.ranks;
  stream.isUniform = !options.packs && !options.perDocument;
  mapSources(rows, stream);
  mapPlaces(options, stream);
  return std::nullopt;
}
