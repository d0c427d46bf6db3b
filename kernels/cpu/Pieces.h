//===- Pieces.h - Sequences that follow each other --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a batch may hold several sequences, one behind the other: `places`
// [b, l] say where each token stands in its own; see "Places" in cprt.h. A view
// of nothing: it is all one sequence, of which this is any part.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_PIECES_H
#define CP_KERNELS_CPU_PIECES_H

#include "Elements.h"

namespace cp::kernels {

using PlacesView = View<const int64_t, 2>;

/// Null, or the message that says where places do not count as cprt.h says: a
/// place above 0 is that of the first row, or behind the one below it.
const char *checkPlaces(const char *op, const PlacesView &places, int64_t batch,
                        int64_t length);

/// Tokens [first, first + count) of one sequence, or rows without a token.
struct Piece {
  int64_t first, count;
  /// Whether the first token is that of a sequence, before which there is
  /// nothing.
  bool starts;
  bool hasTokens;
};

/// Goes through the rows [begin, end) of batch element `b` in pieces of at most
/// `most` rows.
class PieceWalk {
public:
  PieceWalk(const PlacesView &places, int64_t b, int64_t begin, int64_t end,
            int64_t most)
      : places(places), b(b), at(begin), end(end), most(most) {}
  /// False at the end.
  bool next(Piece &piece);

private:
  const PlacesView &places;
  int64_t b, at, end, most;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_PIECES_H
