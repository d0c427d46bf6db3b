//===- Sharding.h - How a model is sharded ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_SHARDING_H
#define CP_TRANSFORMS_SHARDING_H

#include "cp/IR/CPDialect.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cp {

/// What cp-assign-layouts is asked for. As it stands, that is one rank on the
/// axis "cp"; a mesh of another size is most of what there is to say.
struct Sharding {
  Mesh mesh{{{"cp", 1}}};
  /// How the sequence is cut between ops that depend along it, major to minor;
  /// one cut at least. All but the first are contiguous.
  std::vector<Cut> sequence = {Cut{0}};
  /// How many of them, from the last on, cut the hidden factor under "2d": the
  /// parts of the last axis.
  int64_t hiddenCuts = 1;
  /// How dimension 0 of what has a sequence is cut, major to minor: contiguous,
  /// or not at all.
  std::vector<Cut> batch;
  /// The contiguous cuts of tensor parallelism, by the parts of one axis; or
  /// none.
  std::vector<Cut> tensorParallel;
  /// Whether it cuts rows too, where it cuts nothing else (Korthikanti et al.,
  /// "Reducing Activation Recomputation in Large Transformer Models", 2022).
  bool tensorRows = false;
  /// What parameters are cut over where nobody computes with them, and what an
  /// optimizer keeps of them (ZeRO: Rajbhandari et al., 2020).
  std::vector<Cut> params;
  /// Of ops that do not say themselves how they are cut.
  CutStrategy mixer = CutStrategy::Sequence;
  AttentionForm attention = AttentionForm::Ring;
  ScanAlgorithm scan = ScanAlgorithm::Chain;
  /// Whether ranks along an axis that cuts nothing may do the same work.
  bool replicateUnused = false;
  /// Whether each rank gets its terms of a parameter's gradient, for a caller
  /// who adds them up with what else is summed over these ranks.
  bool partialGradients = false;

  /// Whether attention's tokens are cut over the first axis in an order per
  /// document.
  bool isPerDocument() const { return cp::isPerDocument(sequence.front()); }
  /// The cuts of a sequence of which nothing but rows is cut, as arguments have
  /// it: contiguous ones where the order is per document.
  std::vector<Cut> rows() const;
  /// How an op is cut: as it says itself, or as mixers are. One that needs the
  /// sequence whole is cut along its hidden factor, or not at all.
  CutStrategy strategyOf(SequenceOpInterface op) const;
  /// The cuts of an op's hidden factor and of its sequence under a strategy.
  std::vector<Cut> onHidden(CutStrategy strategy) const;
  std::vector<Cut> onSequence(CutStrategy strategy) const;
};

/// The same as the options of cp-assign-layouts have it; see Passes.h.
struct AssignLayoutsOptions;
using ShardingText = AssignLayoutsOptions;

/// How an option is named in an error: "order", or "--order" for a tool.
using OptionSpelling = llvm::function_ref<std::string(llvm::StringRef)>;

/// Reads the text of each option. Errors: a mesh that is none, an axis that is
/// not the mesh's or is used twice, a word that is none of those to choose
/// from.
llvm::Expected<Sharding> parseSharding(
    const ShardingText &text,
    OptionSpelling spell = [](llvm::StringRef name) { return name.str(); });
/// The inverse.
ShardingText textOf(const Sharding &sharding);

/// Reads "dp=2,cp=4", the inverse of meshText; nothing when the text is no
/// mesh, `message` says why.
std::optional<Mesh> parseMesh(llvm::StringRef text, std::string &message);

/// The number of ranks that share what `cuts` cut.
int64_t partsOf(const Mesh &mesh, llvm::ArrayRef<Cut> cuts);

} // namespace cp

#endif // CP_TRANSFORMS_SHARDING_H
