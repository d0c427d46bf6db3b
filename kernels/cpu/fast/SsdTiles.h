//===- fast/SsdTiles.h - Where the tiles of sequences are -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDTILES_H
#define CP_KERNELS_CPU_FAST_SSDTILES_H

#include "OpArguments.h"
#include "Scratch.h"
#include "fast/SsdPack.h"

namespace cp::kernels::fast {

/// The tiles of each row of a batch, in their order, for those who go through
/// them backwards. A tile has the tokens of one sequence; rows without tokens
/// are in none.
template <typename Isa> class SsdTiles {
public:
  explicit SsdTiles(const SsdSizes &sizes)
      : batch(sizes.b), length(sizes.l), perRow(ceilDiv(sizes.l, tileTokens)) {}

  /// Of the memory that allocate() wants. Places cut tiles as short as a token.
  size_t bytes(const PlacesView &places) const {
    return carved<Piece>(batch * (places.data ? length : perRow)) +
           carved<int64_t>(batch + 1);
  }
  /// Calls `apart` with each piece without tokens.
  template <typename Fn>
  bool find(const PlacesView &places, void *memory, Fn apart) {
    if (!memory)
      return false;
    Carver carver(memory);
    starts = carver.take<int64_t>(batch + 1);
    tiles = carver.take<Piece>(batch * (places.data ? length : perRow));
    int64_t count = 0;
    Piece piece;
    for (int64_t b = 0; b < batch; ++b) {
      starts[b] = count;
      for (PieceWalk walk(places, b, 0, length, tileTokens); walk.next(piece);)
        if (piece.hasTokens)
          tiles[count++] = piece;
        else
          apart(b, piece);
    }
    starts[batch] = count;
    return true;
  }

  int64_t sizeOf(int64_t b) const { return starts[b + 1] - starts[b]; }
  const Piece &at(int64_t b, int64_t i) const { return tiles[starts[b] + i]; }
  /// The number of tiles of the row that has the most.
  int64_t most() const {
    int64_t most = 0;
    for (int64_t b = 0; b < batch; ++b)
      most = sizeOf(b) > most ? sizeOf(b) : most;
    return most;
  }

  /// So many or fewer are in a row, unless most of its sequences are shorter
  /// than a tile: what does not depend on where these end.
  int64_t usual(const PlacesView &places) const {
    return places.data ? 2 * perRow + 8 : perRow;
  }

private:
  int64_t batch, length, perRow;
  Piece *tiles = nullptr;
  int64_t *starts = nullptr;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDTILES_H
