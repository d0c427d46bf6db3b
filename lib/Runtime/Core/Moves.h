//===- Moves.h - Which elements go from rank to rank ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective says what it moves as a function of two positions, which either
// of them can evaluate: who takes reads what is another rank's, or who has it
// sends, as the ranks can reach each other.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MOVES_H
#define CP_LIB_RUNTIME_MOVES_H

#include "Copy.h"
#include "FunctionRef.h"

namespace cp::runtime {

/// Elements of a buffer of one rank that another one takes.
struct Move {
  /// Among all buffers of the call: equal in type and sizes on both.
  size_t source;
  /// The taker's own, to which the elements are copied; means nothing to the
  /// other rank, and null where they are only looked at.
  const Buffer *target = nullptr;
  /// Of the target, or of what else is made of them, from the source.
  List<DimMap> maps;

  Move(size_t source, const Buffer *target) : source(source), target(target) {}
  /// Adds a map, without a copy as an initializer list would make.
  Move &&with(DimMap map) && {
    maps.push_back(std::move(map));
    return std::move(*this);
  }
};

/// Appends what the rank at `to` takes of the one at `from`: the same, but for
/// targets, whichever rank asks.
using MovesFn = FunctionRef<void(int64_t to, int64_t from, List<Move> &moves)>;

/// The bytes of the elements that `maps` take of `source`.
int64_t bytesOf(const Buffer &source, const List<DimMap> &maps);

/// Elements taken out of a buffer, packed in the order of its dimensions.
class Packed {
public:
  /// `maps` take them of `source`. Has no memory yet.
  Packed(const Buffer &source, const List<DimMap> &maps);

  int64_t bytes() const { return runtime::bytesOf(at(nullptr), {}); }
  /// From a source to packed elements, and from there to where the maps have
  /// them.
  const List<DimMap> &packing() const { return toPacked; }
  const List<DimMap> &maps() const { return fromPacked; }
  /// The packed elements at `memory`; a view into this.
  Buffer at(const char *memory) const;

private:
  DType dtype;
  int32_t rank;
  std::array<int64_t, maxRank> sizes, strides;
  List<DimMap> toPacked, fromPacked;
};

/// Where the elements lie, if they lie in a row in the order of the buffer's
/// dimensions: `ofTarget` those that the maps write, otherwise those that they
/// read. Null if there are none, or if they do not.
char *rowOf(const Buffer &buffer, const List<DimMap> &maps, bool ofTarget);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MOVES_H
