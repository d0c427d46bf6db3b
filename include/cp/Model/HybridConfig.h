//===- HybridConfig.h - Models of several kinds of layers -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bamba, Nemotron-H and GraniteMoeHybrid without experts (Granite 4.0 H), as
// transformers 5.23 computes them. A model is a list of blocks, each with a
// norm of its own; for token states u:
//   u += residual * block(norm(u))
// A layer of Nemotron-H is one block, a layer of the others two: a Mamba-2
// mixer or attention, and an MLP.
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_HYBRIDCONFIG_H
#define CP_MODEL_HYBRIDCONFIG_H

#include "cp/Model/LanguageModel.h"
#include "cp/Model/MixerConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace llvm::json {
class Object;
} // namespace llvm::json

namespace cp {

enum class BlockKind { Mamba, Attention, Mlp };

/// Attention with grouped heads: heads / keyHeads query heads share a key head.
struct AttentionConfig {
  int64_t heads = 0;
  int64_t keyHeads = 0;
  int64_t headDim = 0;
  /// Biases of the projections of queries, keys, values and results.
  bool useBias = false;
  /// The base of the rotary frequencies; without it nothing is rotated.
  std::optional<double> ropeTheta;
  /// The leading channels of a head that are rotated.
  int64_t rotaryDims = 0;
  /// What scores are multiplied by; without it 1/sqrt(headDim).
  std::optional<double> scale;
};

/// What stands between the projections of an MLP.
enum class MlpForm {
  /// down_proj(silu(gate_proj(x)) * up_proj(x)).
  SwiGlu,
  /// The same with one weight, input_linear, whose first rows are the gate's
  /// and whose last are up's; the other is output_linear.
  PackedSwiGlu,
  /// down_proj(relu(up_proj(x))^2).
  SquaredRelu
};

struct MlpConfig {
  MlpForm form = MlpForm::SwiGlu;
  int64_t size = 0;
  bool useBias = false;
};

/// Factors of a whole model, none of which is 0.
struct Multipliers {
  /// Of the embedding's rows.
  double embedding = 1;
  /// Of what a block adds to the residual stream.
  double residual = 1;
  /// What logits are divided by.
  double logitsDivisor = 1;
};

struct HybridFamily;

/// A hybrid language model; numLayers is that of `layers`. What
/// parseModelConfig() returns has been checked as a Mamba2Config is; also,
/// keyHeads divides heads and rotaryDims is even and at most headDim.
struct HybridConfig : LanguageModel {
  /// Never null in what parseModelConfig() returns.
  const HybridFamily *family = nullptr;
  MixerConfig mamba;
  AttentionConfig attention;
  MlpConfig mlp;
  Multipliers multipliers;
  /// By layer; Mamba or Attention where layers have an MLP each, which is
  /// everywhere but in Nemotron-H.
  std::vector<BlockKind> layers;
};

/// A block with the names of its parameters.
struct HybridBlock {
  BlockKind kind;
  /// The weight of its norm.
  std::string norm;
  /// What the names of its own parameters start with, up to the dot.
  std::string module;
};

/// The blocks in the order of their use.
std::vector<HybridBlock> blocksOf(const HybridConfig &config);

/// What models of one model_type have in common. A file of lib/Model describes
/// each, and is all that a new one takes, but for its line in hybridFamilies().
struct HybridFamily {
  /// The model_type.
  llvm::StringRef type;
  /// Names of the parameters that belong to no block.
  llvm::StringRef embedding, lastNorm;
  /// Whether dt_bias starts from drawn step sizes; otherwise as ones.
  bool drawsSteps;
  /// The blocks of layer number `layer`, which is of this kind.
  std::vector<HybridBlock> (*blocksOfLayer)(size_t layer, BlockKind kind);
  /// Reads a config.json of this model_type. Errors begin with `label`.
  llvm::Error (*read)(const llvm::json::Object &object, llvm::StringRef label,
                      HybridConfig &config);
};

/// "bamba", "nemotron_h", "granitemoehybrid".
extern const HybridFamily bambaFamily, nemotronHFamily, graniteFamily;
/// All of them.
llvm::ArrayRef<const HybridFamily *> hybridFamilies();

} // namespace cp

#endif // CP_MODEL_HYBRIDCONFIG_H
