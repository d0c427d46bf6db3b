//===- HybridWeights.cpp - The parameters of a hybrid ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, shapes and initialisation: modeling_bamba.py, modeling_nemotron_h.py
// and modeling_granitemoehybrid.py of transformers 5.23.0, over
// PreTrainedModel._init_weights there.
//
//===----------------------------------------------------------------------===//

#include "MixerWeights.h"

using namespace cp;

/// _init_weights of the families' PreTrainedModel.
static MixerInits mixerInits(const HybridConfig &config) {
  const MixerConfig &c = config.mamba;
  InitSpec normal = InitSpec::normal(config.initializerRange);
  return {normal,
          config.rescaleResidual ? outProjInit(config, c) : normal,
          normal,
          InitSpec::zeros(),
          config.family->drawsSteps ? dtBiasInit(c) : InitSpec::ones(),
          InitSpec::logArange()};
}

/// A linear layer `[out, in]`.
static void addLinear(const LanguageModel &model, const std::string &name,
                      int64_t outputs, int64_t inputs, bool useBias,
                      std::vector<WeightSpec> &out) {
  out.push_back({name + ".weight",
                 {outputs, inputs},
                 InitSpec::normal(model.initializerRange)});
  if (useBias)
    out.push_back({name + ".bias", {outputs}, InitSpec::zeros()});
}

static void addAttention(const HybridConfig &config, const std::string &module,
                         std::vector<WeightSpec> &out) {
  const AttentionConfig &c = config.attention;
  int64_t width = config.hiddenSize;
  int64_t queries = c.heads * c.headDim, keys = c.keyHeads * c.headDim;
  addLinear(config, module + ".q_proj", queries, width, c.useBias, out);
  addLinear(config, module + ".k_proj", keys, width, c.useBias, out);
  addLinear(config, module + ".v_proj", keys, width, c.useBias, out);
  addLinear(config, module + ".o_proj", width, queries, c.useBias, out);
}

static void addMlp(const HybridConfig &config, const std::string &module,
                   std::vector<WeightSpec> &out) {
  const MlpConfig &c = config.mlp;
  int64_t width = config.hiddenSize;
  if (c.form == MlpForm::PackedSwiGlu) {
    addLinear(config, module + ".input_linear", 2 * c.size, width, c.useBias,
              out);
    addLinear(config, module + ".output_linear", width, c.size, c.useBias, out);
    return;
  }
  if (c.form == MlpForm::SwiGlu)
    addLinear(config, module + ".gate_proj", c.size, width, c.useBias, out);
  addLinear(config, module + ".up_proj", c.size, width, c.useBias, out);
  addLinear(config, module + ".down_proj", width, c.size, c.useBias, out);
}

std::vector<WeightSpec> cp::weightsOf(const HybridConfig &config) {
  InitSpec normal = InitSpec::normal(config.initializerRange);
  MixerInits inits = mixerInits(config);
  std::vector<int64_t> table = {config.paddedVocabSize, config.hiddenSize};
  std::vector<WeightSpec> out;
  out.push_back({config.family->embedding.str(), table, normal});
  for (const HybridBlock &block : blocksOf(config)) {
    out.push_back({block.norm, {config.hiddenSize}, InitSpec::ones()});
    if (block.kind == BlockKind::Mamba)
      addMixerWeights(config, config.mamba, inits, block.module, out);
    else if (block.kind == BlockKind::Attention)
      addAttention(config, block.module, out);
    else
      addMlp(config, block.module, out);
  }
  out.push_back(
      {config.family->lastNorm.str(), {config.hiddenSize}, InitSpec::ones()});
  if (!config.tieEmbeddings)
    out.push_back({"lm_head.weight", table, normal});
  return out;
}
