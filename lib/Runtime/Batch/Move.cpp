//===- Move.cpp - Tensors of tokens, there and back -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Move.h"

#include <algorithm>
#include <cstring>

using namespace cp;
using namespace cp::batch;

Error cp::batch::viewOf(const cprt_batch_tensor &tensor, int sequenceDim,
                        int64_t rows, int64_t tokens, bool isUniform,
                        const std::string &where, View &view) {
  if (tensor.shape[sequenceDim] != tokens)
    return refuse(3, where + " has " +
                         std::to_string(tensor.shape[sequenceDim]) +
                         " tokens in dimension " + std::to_string(sequenceDim) +
                         ", expected " + std::to_string(tokens));
  int rowsDim = sequenceDim - 1;
  bool hasRows = rowsDim >= 0 && tensor.shape[rowsDim] == rows;
  if (!hasRows && !isUniform)
    return refuse(3, where + " has no dimension of " + std::to_string(rows) +
                         " rows before that of its tokens, dimension " +
                         std::to_string(sequenceDim) +
                         ", and each row of this batch is cut in its own way");
  view = {1, isUniform ? 1 : rows, int64_t(cprt_dtype_size(tensor.dtype))};
  for (int i = 0; i < (isUniform ? sequenceDim : rowsDim); ++i)
    view.outer *= tensor.shape[i];
  for (int i = sequenceDim + 1; i < tensor.rank; ++i)
    view.bytes *= tensor.shape[i];
  return std::nullopt;
}

/// Calls fn(group, source, place) for each place of the padded rows of `view`.
template <typename Fn>
static void forEachPlace(const Stream &stream, const View &view, Fn fn) {
  if (!view.bytes)
    return;
  int64_t place = 0;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t row = 0; row < view.rows; ++row)
      for (int64_t at = 0; at < stream.length; ++at)
        fn(o, stream.sourceOf(row, at), place++);
}

Error cp::batch::checkSize(const View &view, int64_t tokens,
                           const std::string &where) {
  if (!view.bytes || tokens <= mostElements / view.bytes /
                                   std::max<int64_t>(view.outer, 1) / view.rows)
    return std::nullopt;
  return refuse(2, where + " takes more than 2^40 bytes with " +
                       std::to_string(tokens) + " places a row");
}

int64_t cp::batch::originalTokens(const Stream &stream) {
  return stream.isUniform ? stream.originalLength
                          : stream.originalRows * stream.originalLength;
}

void cp::batch::padRows(const Stream &stream, const View &view,
                        const char *rows, const void *fill, size_t elementBytes,
                        char *padded) {
  int64_t each = originalTokens(stream);
  auto bytes = size_t(view.bytes);
  forEachPlace(stream, view, [&](int64_t o, int64_t source, int64_t place) {
    char *to = padded + place * view.bytes;
    if (source >= 0)
      std::memcpy(to, rows + (o * each + source) * view.bytes, bytes);
    else
      for (size_t i = 0; i < bytes; i += elementBytes)
        std::memcpy(to + i, fill, elementBytes);
  });
}

void cp::batch::unpadRows(const Stream &stream, const View &view,
                          const char *padded, char *rows) {
  int64_t each = originalTokens(stream);
  std::fill_n(rows, view.outer * each * view.bytes, '\0');
  forEachPlace(stream, view, [&](int64_t o, int64_t source, int64_t place) {
    if (source >= 0)
      std::memcpy(rows + (o * each + source) * view.bytes,
                  padded + place * view.bytes, size_t(view.bytes));
  });
}

/// Calls fn(element of the part, element of the padded rows) for each token.
template <typename Fn>
static void forEachOfPart(const Stream &stream, const View &view, int64_t rank,
                          Fn fn) {
  if (!view.bytes)
    return;
  int64_t local = 0;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t row = 0; row < view.rows; ++row)
      for (int64_t i = 0; i < stream.localLength; ++i)
        fn(local++, (o * view.rows + row) * stream.length +
                        stream.placeOf(rank, row, i));
}

void cp::batch::takePart(const Stream &stream, const View &view,
                         const char *padded, int64_t rank, char *part) {
  forEachOfPart(stream, view, rank, [&](int64_t local, int64_t whole) {
    std::memcpy(part + local * view.bytes, padded + whole * view.bytes,
                size_t(view.bytes));
  });
}

void cp::batch::putPart(const Stream &stream, const View &view,
                        const char *part, int64_t rank, char *padded) {
  forEachOfPart(stream, view, rank, [&](int64_t local, int64_t whole) {
    std::memcpy(padded + whole * view.bytes, part + local * view.bytes,
                size_t(view.bytes));
  });
}
