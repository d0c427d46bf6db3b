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

#include "HybridForms.h"

using namespace cp;

llvm::ArrayRef<const HybridFamily *> cp::hybridFamilies() {
  static const HybridFamily *const all[] = {&bambaFamily, &nemotronHFamily,
                                            &graniteFamily};
  return all;
}

std::vector<HybridBlock> cp::blocksOf(const HybridConfig &config) {
  std::vector<HybridBlock> blocks;
  for (size_t i = 0; i < config.layers.size(); ++i)
    for (HybridBlock &block : config.family->blocksOfLayer(i, config.layers[i]))
      blocks.push_back(std::move(block));
  return blocks;
}

std::vector<HybridBlock> cp::mixerAndMlp(size_t layer, BlockKind kind,
                                         llvm::StringRef mlpNorm,
                                         llvm::StringRef mlp) {
  std::string start = "model.layers." + std::to_string(layer) + ".";
  const char *mixer = kind == BlockKind::Mamba ? "mamba" : "self_attn";
  return {{kind, start + "input_layernorm.weight", start + mixer},
          {BlockKind::Mlp, start + mlpNorm.str(), start + mlp.str()}};
}
