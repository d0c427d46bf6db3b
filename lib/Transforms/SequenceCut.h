//===- SequenceCut.h - How the sequence is cut ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_SEQUENCECUT_H
#define CP_LIB_TRANSFORMS_SEQUENCECUT_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// The axes that cut the sequence and in which order, the axis of tensor
/// parallelism if there is one, and what the strategies make of them.
class SequenceCut {
public:
  /// Reads `axes` ("cp", or major to minor "ring,u"), `order` ("contiguous",
  /// "zigzag", "striped" or "striped:UNIT", of the first axis; the others are
  /// contiguous) and `tensorAxis` ("" for none). Nothing when one of them is
  /// none of `mesh`'s; `message` says which.
  static std::optional<SequenceCut>
  parse(const Mesh &mesh, llvm::StringRef axes, llvm::StringRef order,
        llvm::StringRef tensorAxis, std::string &message);

  /// The cuts of the sequence between ops that depend along it.
  const std::vector<Cut> &cuts() const { return sequence; }
  /// The cuts of an op's hidden factor and of its sequence under a strategy.
  std::vector<Cut> onHidden(CutStrategy strategy) const;
  std::vector<Cut> onSequence(CutStrategy strategy) const;
  /// The cut of tensor parallelism: one, or none.
  const std::vector<Cut> &tensor() const { return tensorParallel; }

private:
  std::vector<Cut> sequence, tensorParallel;
};

/// The number of ranks that share what `cuts` cut.
int64_t partsOf(const Mesh &mesh, llvm::ArrayRef<Cut> cuts);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_SEQUENCECUT_H
