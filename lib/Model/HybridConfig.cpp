//===- HybridConfig.cpp - Models of several kinds of layers ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names: BambaModel and BambaDecoderLayer of modeling_bamba.py, the same of
// modeling_granitemoehybrid.py, and NemotronHModel and NemotronHBlock of
// modeling_nemotron_h.py, in transformers 5.23.0, which saves the last one's
// "model." as "backbone.", as published.
//
//===----------------------------------------------------------------------===//

#include "cp/Model/HybridConfig.h"

using namespace cp;
using llvm::StringRef;

namespace {

/// The names in which the families differ.
struct Names {
  StringRef type;
  StringRef embedding;
  StringRef lastNorm;
  /// Of a layer with two blocks: the MLP's norm and the MLP.
  const char *mlpNorm;
  const char *mlp;
};

} // namespace

static const Names &namesOf(HybridFamily family) {
  static const Names bamba = {"bamba", "model.embed_tokens.weight",
                              "model.final_layernorm.weight",
                              "pre_ff_layernorm.weight", "feed_forward"};
  static const Names nemotronH = {"nemotron_h", "backbone.embeddings.weight",
                                  "backbone.norm_f.weight", "", ""};
  static const Names granite = {
      "granitemoehybrid", "model.embed_tokens.weight", "model.norm.weight",
      "post_attention_layernorm.weight", "shared_mlp"};
  switch (family) {
  case HybridFamily::Bamba:
    return bamba;
  case HybridFamily::NemotronH:
    return nemotronH;
  case HybridFamily::GraniteMoeHybrid:
    break;
  }
  return granite;
}

StringRef cp::familyName(HybridFamily family) { return namesOf(family).type; }

StringRef cp::embeddingName(HybridFamily family) {
  return namesOf(family).embedding;
}

StringRef cp::lastNormName(HybridFamily family) {
  return namesOf(family).lastNorm;
}

std::vector<HybridBlock> cp::blocksOf(const HybridConfig &config) {
  const Names &names = namesOf(config.family);
  std::vector<HybridBlock> blocks;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    BlockKind kind = config.layers[i];
    std::string layer = "layers." + std::to_string(i) + ".";
    if (config.family == HybridFamily::NemotronH) {
      layer = "backbone." + layer;
      blocks.push_back({kind, layer + "norm.weight", layer + "mixer"});
      continue;
    }
    layer = "model." + layer;
    const char *module = kind == BlockKind::Mamba ? "mamba" : "self_attn";
    blocks.push_back({kind, layer + "input_layernorm.weight", layer + module});
    blocks.push_back(
        {BlockKind::Mlp, layer + names.mlpNorm, layer + names.mlp});
  }
  return blocks;
}
