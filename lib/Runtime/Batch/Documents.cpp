//===- Documents.cpp - Where the tokens of rows are -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"

using namespace cp;
using namespace cp::batch;

static std::string placeText(int64_t row, int64_t number) {
  return "row " + std::to_string(row) + ": document " + std::to_string(number);
}

/// The two lists of lengths; `padded` may be null.
namespace {
struct Lengths {
  const cprt_batch_tensor *tokens, *padded;
  int64_t count;
};
} // namespace

static Error readLengths(const Fields &fields, const Field *&tokens,
                         const Field *&padded) {
  tokens = fields.find("seq_lens");
  padded = fields.find("seq_lens_padded");
  if (padded && !tokens)
    return refuse(4, "seq_lens_padded is there, but seq_lens, the tokens of "
                     "each document, is not; give both");
  if (padded && padded->tensor->shape[1] != tokens->tensor->shape[1])
    return refuse(4, describe("seq_lens", *tokens->tensor) + " and " +
                         describe("seq_lens_padded", *padded->tensor) +
                         " have not the same number of documents");
  return std::nullopt;
}

/// One entry of the lists; nothing is added for one that stands for none.
static Error addDocument(const Lengths &lengths, const Options &options,
                         int64_t row, int64_t number, int64_t rowLength,
                         std::vector<Document> &documents) {
  int64_t at = row * lengths.count + number;
  int64_t tokens = intAt(*lengths.tokens, at);
  int64_t slots = lengths.padded ? intAt(*lengths.padded, at) : tokens;
  std::string place = placeText(row, number);
  if ((tokens == options.sentinel) != (slots == options.sentinel))
    return refuse(
        4, place + " is none (" + std::to_string(options.sentinel) +
               ") in one of seq_lens and seq_lens_padded, and of " +
               std::to_string(tokens == options.sentinel ? slots : tokens) +
               " in the other; lists of lengths go in pairs");
  if (tokens == options.sentinel)
    return std::nullopt;
  if (tokens < 0)
    return refuse(4, place + " has " + std::to_string(tokens) +
                         " tokens; an entry that stands for none is " +
                         std::to_string(options.sentinel) +
                         ", the option sentinel");
  if (slots < tokens)
    return refuse(4, place + " has " + std::to_string(tokens) +
                         " tokens, but takes " + std::to_string(slots) +
                         " places by seq_lens_padded");
  int64_t begin =
      documents.empty() ? 0 : documents.back().begin + documents.back().slots;
  if (slots > rowLength - begin)
    return refuse(4, place + " begins at " + std::to_string(begin) +
                         " and takes " + std::to_string(slots) +
                         " places, but the row has " +
                         std::to_string(rowLength));
  documents.push_back({begin, tokens, slots});
  return std::nullopt;
}

static Error takeLengths(const Fields &fields, const Options &options,
                         Documents &documents) {
  const Field *tokens = nullptr, *padded = nullptr;
  if (Error failure = readLengths(fields, tokens, padded))
    return failure;
  if (!tokens)
    return std::nullopt;
  documents.areGiven = true;
  documents.slotsAreGiven = padded;
  Lengths lengths = {tokens->tensor, padded ? padded->tensor : nullptr,
                     tokens->tensor->shape[1]};
  for (int64_t row = 0; row < fields.rows; ++row)
    for (int64_t number = 0; number < lengths.count; ++number)
      if (Error failure =
              addDocument(lengths, options, row, number, fields.length,
                          documents.rows[size_t(row)]))
        return failure;
  return std::nullopt;
}

/// How many tokens the row begins with; what follows must be padding.
static Error rightPadded(const Field &mask, bool token, int64_t row,
                         int64_t length, int64_t &tokens) {
  tokens = length;
  for (int64_t i = 0; i < length; ++i) {
    int64_t value = intAt(*mask.tensor, row * length + i);
    std::string place = mask.name + ", row " + std::to_string(row) +
                        ", token " + std::to_string(i);
    if (value != 0 && value != 1)
      return refuse(5, place + " is " + std::to_string(value) +
                           ", expected 0 or 1; documents are told by seq_lens");
    bool isToken = (value == 1) == token;
    if (!isToken && tokens == length)
      tokens = i;
    if (isToken && tokens < i)
      return refuse(5, place + " is a token behind padding at " +
                           std::to_string(tokens) +
                           ", and only right padding is taken: causal layers "
                           "would read what stands before; move the padding "
                           "behind the row's tokens, or tell documents by "
                           "seq_lens and seq_lens_padded");
  }
  return std::nullopt;
}

/// With lengths, a mask must say what they do.
static Error compareMask(const Field &mask, bool token, int64_t row,
                         int64_t length,
                         const std::vector<Document> &documents) {
  std::vector<bool> expected(size_t(length), false);
  for (const Document &document : documents)
    for (int64_t i = 0; i < document.tokens; ++i)
      expected[size_t(document.begin + i)] = true;
  for (int64_t i = 0; i < length; ++i)
    if (intAt(*mask.tensor, row * length + i) !=
        int64_t(expected[size_t(i)] == token))
      return refuse(5,
                    mask.name + ", row " + std::to_string(row) + ", token " +
                        std::to_string(i) + " is " +
                        std::to_string(intAt(*mask.tensor, row * length + i)) +
                        ", which is not what seq_lens says; leave the mask "
                        "out, as lengths say all of it");
  return std::nullopt;
}

static Error takeMask(const Fields &fields, const char *name, bool token,
                      Documents &documents) {
  const Field *mask = fields.find(name);
  if (!mask)
    return std::nullopt;
  for (int64_t row = 0; row < fields.rows; ++row) {
    std::vector<Document> &list = documents.rows[size_t(row)];
    if (documents.areGiven) {
      if (Error failure = compareMask(*mask, token, row, fields.length, list))
        return failure;
      continue;
    }
    int64_t tokens = 0;
    if (Error failure = rightPadded(*mask, token, row, fields.length, tokens))
      return failure;
    list[0].tokens = tokens;
  }
  return std::nullopt;
}

Error cp::batch::readDocuments(const Fields &fields, const Options &options,
                               Documents &documents) {
  documents.rows.resize(size_t(fields.rows));
  if (Error failure = takeLengths(fields, options, documents))
    return failure;
  if (!documents.areGiven)
    for (std::vector<Document> &list : documents.rows)
      list.push_back({0, fields.length, fields.length});
  if (fields.find("attention_mask") && fields.find("padding_mask"))
    return refuse(5, "attention_mask and padding_mask are both there, which "
                     "say the same; leave one out");
  if (Error failure =
          takeMask(fields, "attention_mask", /*token=*/true, documents))
    return failure;
  return takeMask(fields, "padding_mask", /*token=*/false, documents);
}
