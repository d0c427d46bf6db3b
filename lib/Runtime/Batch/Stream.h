//===- Stream.h - Rows as ranks hold them -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a batch does to tokens is two maps: from the places of its padded
// rows to the caller's, and from those of a rank to the padded rows. Splitting
// and gathering go by them, so that one is the other's inverse.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_STREAM_H
#define CP_LIB_RUNTIME_BATCH_STREAM_H

#include "Documents.h"

namespace cp::batch {

struct Stream {
  /// The caller's.
  int64_t originalRows = 0, originalLength = 0;
  /// What they became, and a rank's part.
  int64_t rows = 0, length = 0, localLength = 0;
  int64_t ranks = 1;
  /// Entries of a list of documents, one less than it has numbers.
  int64_t capacity = 0;
  /// Of each row, in ascending order and without gaps.
  std::vector<std::vector<Document>> documents;
  /// rows * length: row * originalLength + token of the caller's, or -1.
  std::vector<int64_t> source;
  /// ranks * rows * localLength: the place in the padded row. Where every row
  /// is padded and cut in the same way, of one row only.
  std::vector<int64_t> place;
  bool isUniform = false;

  int64_t sourceOf(int64_t row, int64_t at) const {
    return source[size_t(row * length + at)];
  }
  int64_t placeOf(int64_t rank, int64_t row, int64_t local) const {
    int64_t line = isUniform ? rank : rank * rows + row;
    return place[size_t(line * localLength + local)];
  }
};

/// Errors batch_c6 to batch_c8.
Error makeStream(const Fields &fields, const Documents &documents,
                 const Options &options, Stream &stream);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_STREAM_H
