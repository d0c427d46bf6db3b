//===- Pieces.cpp - Sequences that follow each other ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pieces.h"

#include "Arguments.h"

#include <algorithm>

namespace cp::kernels {

const char *checkPlaces(const char *op, const PlacesView &places, int64_t batch,
                        int64_t length) {
  for (int64_t b = 0; b < batch && places.data; ++b) {
    int64_t before = -1;
    for (int64_t t = 0; t < length; ++t) {
      int64_t place = *places.at(b, t);
      if (place < -1 || (t > 0 && place > 0 && place - 1 != before))
        return fail("%s: places[%lld, %lld] is %lld behind %lld; a sequence "
                    "counts its tokens 0, 1, 2, ..., and -1 is no token",
                    op, static_cast<long long>(b), static_cast<long long>(t),
                    static_cast<long long>(place),
                    static_cast<long long>(before));
      before = place;
    }
  }
  return nullptr;
}

bool PieceWalk::next(Piece &piece) {
  int64_t most = std::min(this->most, end - at);
  if (most <= 0)
    return false;
  piece = {at, most, false, true};
  if (places.data) {
    int64_t place = *places.at(b, at);
    piece.starts = place == 0;
    piece.hasTokens = place >= 0;
    piece.count = 1;
    auto goesOn = [&](int64_t next) {
      return piece.hasTokens ? next > 0 : next < 0;
    };
    while (piece.count < most && goesOn(*places.at(b, at + piece.count)))
      ++piece.count;
  }
  at += piece.count;
  return true;
}

} // namespace cp::kernels
