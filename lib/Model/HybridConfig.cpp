//===- HybridConfig.cpp - Models of several kinds of layers ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names: BambaModel and BambaDecoderLayer of modeling_bamba.py, and
// NemotronHModel and NemotronHBlock of modeling_nemotron_h.py, in transformers
// 5.23.0, which saves the latter's "model." as "backbone.", as published.
//
//===----------------------------------------------------------------------===//

#include "cp/Model/HybridConfig.h"

using namespace cp;
using llvm::StringRef;

StringRef cp::familyName(HybridFamily family) {
  return family == HybridFamily::Bamba ? "bamba" : "nemotron_h";
}

StringRef cp::embeddingName(HybridFamily family) {
  return family == HybridFamily::Bamba ? "model.embed_tokens.weight"
                                       : "backbone.embeddings.weight";
}

StringRef cp::lastNormName(HybridFamily family) {
  return family == HybridFamily::Bamba ? "model.final_layernorm.weight"
                                       : "backbone.norm_f.weight";
}

std::vector<HybridBlock> cp::blocksOf(const HybridConfig &config) {
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
    blocks.push_back({BlockKind::Mlp, layer + "pre_ff_layernorm.weight",
                      layer + "feed_forward"});
  }
  return blocks;
}
