//===- LanguageModel.h - What a whole model has one of ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_LANGUAGEMODEL_H
#define CP_MODEL_LANGUAGEMODEL_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Whose implementation a model follows where they differ.
enum class Semantics {
  /// transformers from 5.23 on: the gated norm's MambaRMSNormGated works per
  /// group of d_inner / n_groups channels, gate first.
  Transformers,
  /// transformers up to 5.22: the same, but the norm runs over all of d_inner.
  /// With one group there is no difference.
  TransformersUngrouped,
  /// mamba_ssm 2.x: RMSNormGated per group; norm_before_gate chooses the order.
  MambaSSM
};

/// "transformers", "transformers-ungrouped", "mamba_ssm".
llvm::StringRef semanticsName(Semantics semantics);

/// The semantics that semanticsName() names so, or nothing.
std::optional<Semantics> parseSemantics(llvm::StringRef name);

/// What a language model has one of, whatever its layers are.
struct LanguageModel {
  Semantics semantics = Semantics::Transformers;

  // Sizes.
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t vocabSize = 0;
  /// Rows of the embedding and of the logits; at least vocabSize.
  int64_t paddedVocabSize = 0;

  /// Of the norm before each block and of the last one.
  double normEpsilon = 1e-5;
  /// The logits use the embedding; there is no lm_head.weight.
  bool tieEmbeddings = false;
  /// The token whose row of the embedding gets no gradient where it is looked
  /// up (torch's padding_idx); the head's share stays.
  std::optional<int64_t> paddingToken;
  /// The residual stream is at least f32, whatever the weights' type.
  bool residualInF32 = true;

  // Initialisation, for weights that no file gives.
  /// Standard deviation: of the embedding, and in transformers of every
  /// projection but out_proj.
  double initializerRange = 0.02;
  /// out_proj starts smaller by 1/sqrt(numLayers).
  bool rescaleResidual = false;

  /// Fields that count in training alone, where they are not 0, and in no
  /// program: "attention_dropout = 0.1".
  std::vector<std::string> trainingOnly;

  /// For people: each field that the semantics ignores, and each size that was
  /// absent and so took its default. One sentence each.
  std::vector<std::string> remarks;
};

} // namespace cp

#endif // CP_MODEL_LANGUAGEMODEL_H
