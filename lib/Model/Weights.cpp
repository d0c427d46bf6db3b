//===- Weights.cpp - The parameters of a Mamba-2 model --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and shapes: Mamba2ForCausalLM and Mamba2Mixer.__init__ of transformers
// 5.23.0 (modeling_mamba2.py).
//
//===----------------------------------------------------------------------===//

#include "MixerWeights.h"

#include <cmath>

using namespace cp;

namespace {

/// The initialisations in which the two libraries differ.
struct Inits {
  InitSpec embedding;
  InitSpec head;
  MixerInits mixer;
};

} // namespace

InitSpec cp::torchDefault(int64_t fanIn) {
  return InitSpec::uniform(1 / std::sqrt(double(fanIn)));
}

InitSpec cp::outProjInit(const LanguageModel &model, const MixerConfig &mixer) {
  InitSpec init = torchDefault(mixer.innerSize());
  if (model.rescaleResidual)
    init.scale /= std::sqrt(double(model.numLayers));
  return init;
}

InitSpec cp::dtBiasInit(const MixerConfig &c) {
  return InitSpec::dtBias(c.dtInitMin, c.dtInitMax, c.dtInitFloor);
}

/// Mamba2PreTrainedModel._init_weights over PreTrainedModel._init_weights.
static Inits transformersInits(const Mamba2Config &c) {
  InitSpec normal = InitSpec::normal(c.initializerRange);
  return {normal,
          normal,
          {normal, outProjInit(c, c), torchDefault(c.convKernel),
           InitSpec::zeros(), dtBiasInit(c), InitSpec::logArange()}};
}

/// Mamba2.__init__ and _init_weights of mixer_seq_simple.py in mamba_ssm 2.3.2,
/// which leaves the projections and the conv as torch starts them.
static Inits mambaSsmInits(const Mamba2Config &c) {
  InitSpec conv = torchDefault(c.convKernel);
  return {InitSpec::normal(c.initializerRange),
          torchDefault(c.hiddenSize),
          {torchDefault(c.hiddenSize), outProjInit(c, c),
           c.convInit ? InitSpec::uniform(*c.convInit) : conv, conv,
           dtBiasInit(c), InitSpec::logUniform(c.aInitMin, c.aInitMax)}};
}

void cp::addMixerWeights(const LanguageModel &model, const MixerConfig &c,
                         const MixerInits &inits, const std::string &start,
                         std::vector<WeightSpec> &out) {
  auto add = [&](const char *name, std::vector<int64_t> shape, InitSpec init) {
    out.push_back({start + name, std::move(shape), init});
  };
  int64_t inner = c.innerSize();
  add(".in_proj.weight", {c.inProjSize(), model.hiddenSize}, inits.inProj);
  if (c.useBias)
    add(".in_proj.bias", {c.inProjSize()}, InitSpec::zeros());
  add(".conv1d.weight", {c.convDim(), 1, c.convKernel}, inits.conv);
  if (c.useConvBias)
    add(".conv1d.bias", {c.convDim()}, inits.convBias);
  add(".dt_bias", {c.numHeads}, inits.dtBias);
  add(".A_log", {c.numHeads}, inits.aLog);
  add(".D", {c.dHasHeadDim ? inner : c.numHeads}, InitSpec::ones());
  if (c.hasGatedNorm)
    add(".norm.weight", {inner}, InitSpec::ones());
  add(".out_proj.weight", {model.hiddenSize, inner}, inits.outProj);
  if (c.useBias)
    add(".out_proj.bias", {model.hiddenSize}, InitSpec::zeros());
}

std::vector<WeightSpec> cp::weightsOf(const Mamba2Config &c) {
  Inits inits = c.semantics == Semantics::MambaSSM ? mambaSsmInits(c)
                                                   : transformersInits(c);
  std::vector<int64_t> table = {c.paddedVocabSize, c.hiddenSize};
  std::vector<WeightSpec> out;
  out.push_back({"backbone.embeddings.weight", table, inits.embedding});
  for (int64_t layer = 0; layer < c.numLayers; ++layer) {
    std::string start = "backbone.layers." + std::to_string(layer) + ".";
    out.push_back({start + "norm.weight", {c.hiddenSize}, InitSpec::ones()});
    addMixerWeights(c, c, inits.mixer, start + "mixer", out);
  }
  out.push_back({"backbone.norm_f.weight", {c.hiddenSize}, InitSpec::ones()});
  if (!c.tieEmbeddings)
    out.push_back({"lm_head.weight", table, inits.head});
  return out;
}
