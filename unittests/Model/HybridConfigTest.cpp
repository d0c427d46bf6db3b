//===- HybridConfigTest.cpp - Tests of Bamba's and Nemotron-H's forms -----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigTexts.h"

#include "cp/Model/Weights.h"

#include <cmath>
#include <map>

using namespace cp;
using namespace cp::test;

namespace {

std::string goldenPath(const std::string &name) {
  return CP_SOURCE_DIR "/test/Integration/goldens-hybrid/" + name;
}

HybridConfig mustParseHybrid(const std::string &text) {
  auto config = parseModelConfig(text, "config.json");
  if (!config) {
    ADD_FAILURE() << llvm::toString(config.takeError());
    return {};
  }
  if (auto *hybrid = std::get_if<HybridConfig>(&*config))
    return *hybrid;
  ADD_FAILURE() << "not a hybrid";
  return {};
}

std::string errorIn(const std::string &text) {
  std::string error = errorOf(parseModelConfig(text, "config.json"));
  EXPECT_FALSE(error.empty()) << "accepted: " << text;
  EXPECT_EQ(error.rfind("'config.json': ", 0), 0u) << error;
  return error;
}

const std::string bamba = R"({"model_type": "bamba"})";
const std::string nemotron =
    R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-*M"})";

std::string bambaWith(const std::string &members) {
  return plus(bamba, members);
}
std::string nemotronWith(const std::string &members) {
  return plus(nemotron, members);
}

bool hasRemark(const HybridConfig &config, const std::string &start) {
  for (const std::string &remark : config.remarks)
    if (remark.rfind(start, 0) == 0)
      return true;
  return false;
}

std::string kinds(const HybridConfig &config) {
  std::string text;
  for (BlockKind kind : config.layers)
    text += kind == BlockKind::Mamba ? 'M' : kind == BlockKind::Mlp ? '-' : '*';
  return text;
}

} // namespace

/// The parameters are those of the models that transformers saved.
TEST(HybridWeights, AreThoseOfTheGoldens) {
  for (const char *name :
       {"bamba", "bamba-options", "nemotron_h", "nemotron_h-options", "granite",
        "granite-options"}) {
    SCOPED_TRACE(name);
    HybridConfig config =
        mustParseHybrid(readAll(goldenPath(name) + "/config.json"));
    auto file = TensorFile::open(goldenPath(name) + "/weights.safetensors");
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    std::map<std::string, std::vector<int64_t>> expected, found;
    for (const TensorView &view : file->tensors())
      expected[view.name] = view.shape;
    for (const WeightSpec &weight : weightsOf(config))
      found[weight.name] = weight.shape;
    EXPECT_EQ(found, expected);
  }
}

TEST(HybridWeights, InitialisationOfTheFamilies) {
  auto initOf = [](const HybridConfig &config, const std::string &name) {
    for (const WeightSpec &weight : weightsOf(config))
      if (weight.name == name)
        return weight.init;
    ADD_FAILURE() << name;
    return InitSpec();
  };
  HybridConfig b = mustParseHybrid(bamba), n = mustParseHybrid(nemotron);
  EXPECT_EQ(initOf(b, "model.layers.0.mamba.dt_bias").kind,
            InitSpec::Kind::Ones);
  EXPECT_EQ(initOf(b, "model.layers.0.mamba.out_proj.weight").kind,
            InitSpec::Kind::Normal);
  EXPECT_EQ(initOf(n, "backbone.layers.0.mixer.dt_bias").kind,
            InitSpec::Kind::DtBias);
  InitSpec out = initOf(n, "backbone.layers.0.mixer.out_proj.weight");
  EXPECT_EQ(out.kind, InitSpec::Kind::Uniform);
  EXPECT_DOUBLE_EQ(out.scale, 1 / std::sqrt(128.0 * 64) / 2);
  EXPECT_EQ(initOf(n, "lm_head.weight").scale, 0.02);
}

TEST(HybridConfig, DefaultsOfBamba) {
  HybridConfig c = mustParseHybrid(bamba);
  EXPECT_EQ(c.family, &bambaFamily);
  EXPECT_EQ(c.hiddenSize, 4096);
  EXPECT_EQ(c.vocabSize, 128000);
  EXPECT_EQ(c.numLayers, 32);
  EXPECT_EQ(c.mamba.numHeads, 128);
  EXPECT_EQ(c.mamba.headDim, 64);
  EXPECT_EQ(c.mamba.stateSize, 256);
  EXPECT_EQ(c.mamba.numGroups, 1);
  EXPECT_FALSE(c.residualInF32);
  EXPECT_EQ(c.paddingToken, 0);
  EXPECT_EQ(c.attention.heads, 32);
  EXPECT_EQ(c.attention.keyHeads, 8);
  EXPECT_EQ(c.attention.headDim, 128);
  EXPECT_EQ(c.attention.ropeTheta, 10000.0);
  EXPECT_EQ(c.attention.rotaryDims, 64);
  EXPECT_EQ(c.mlp.size, 14336);
  EXPECT_EQ(kinds(c), std::string(32, 'M'));
  EXPECT_TRUE(hasRemark(c, "num_key_value_heads is absent: 8"));
}

TEST(HybridConfig, DefaultsOfNemotronH) {
  HybridConfig c = mustParseHybrid(nemotron);
  EXPECT_EQ(c.family, &nemotronHFamily);
  EXPECT_EQ(kinds(c), "M-*M");
  EXPECT_EQ(c.numLayers, 4);
  EXPECT_EQ(c.mamba.innerSize(), 128 * 64);
  EXPECT_EQ(c.mamba.normGroups, 8);
  EXPECT_EQ(c.mamba.dtMin, 0.001);
  EXPECT_TRUE(std::isinf(c.mamba.dtMax));
  EXPECT_EQ(c.attention.headDim, 128);
  EXPECT_FALSE(c.attention.ropeTheta);
  EXPECT_EQ(c.mlp.size, 21504);
}

TEST(HybridConfig, DefaultsOfGranite) {
  HybridConfig c = mustParseHybrid(
      R"({"model_type": "granitemoehybrid", "num_local_experts": 0})");
  EXPECT_EQ(c.family, &graniteFamily);
  EXPECT_EQ(c.hiddenSize, 4096);
  EXPECT_EQ(c.vocabSize, 32000);
  EXPECT_EQ(c.normEpsilon, 1e-6);
  EXPECT_FALSE(c.residualInF32);
  EXPECT_EQ(c.attention.keyHeads, 32);
  EXPECT_EQ(c.attention.headDim, 128);
  EXPECT_FALSE(c.attention.ropeTheta);
  EXPECT_EQ(c.attention.scale, 1.0);
  EXPECT_EQ(c.mlp.form, MlpForm::PackedSwiGlu);
  EXPECT_EQ(c.mlp.size, 1024);
  EXPECT_EQ(c.multipliers.embedding, 1);
  EXPECT_EQ(kinds(c), std::string(32, 'M'));
}

/// Granite 4.0 H 1B as IBM publishes it, but for its list of layers.
TEST(HybridConfig, ReadsGranite) {
  HybridConfig c = mustParseHybrid(R"({
    "architectures": ["GraniteMoeHybridForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "attention_multiplier": 0.0078125,
    "bos_token_id": 100257, "embedding_multiplier": 12,
    "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 1536,
    "init_method": "mup", "initializer_range": 0.1, "intermediate_size": 4096,
    "layer_types": ["mamba", "attention"], "logits_scaling": 6,
    "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_d_conv": 4,
    "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2,
    "mamba_n_groups": 1, "mamba_n_heads": 48, "mamba_proj_bias": false,
    "max_position_embeddings": 131072, "model_type": "granitemoehybrid",
    "normalization_function": "rmsnorm", "num_attention_heads": 12,
    "num_experts_per_tok": 0, "num_hidden_layers": 2,
    "num_key_value_heads": 4, "num_local_experts": 0,
    "output_router_logits": false, "pad_token_id": 100256,
    "position_embedding_type": "nope", "residual_multiplier": 0.22,
    "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000,
    "router_aux_loss_coef": 0.01, "shared_intermediate_size": 4096,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "transformers_version": "4.56.0", "use_cache": true,
    "vocab_size": 100352})");
  EXPECT_EQ(kinds(c), "M*");
  EXPECT_EQ(c.multipliers.embedding, 12);
  EXPECT_EQ(c.multipliers.residual, 0.22);
  EXPECT_EQ(c.multipliers.logitsDivisor, 6);
  EXPECT_EQ(c.attention.scale, 0.0078125);
  EXPECT_EQ(blocksOf(c)[1].norm,
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(blocksOf(c)[1].module, "model.layers.0.shared_mlp");
}

TEST(HybridConfig, RotarySettings) {
  HybridConfig c = mustParseHybrid(bambaWith(
      R"("rope_theta": 500.0, "rope_scaling": null, "attn_rotary_emb": 64,
         "partial_rotary_factor": 0.25)"));
  EXPECT_EQ(c.attention.ropeTheta, 500.0);
  EXPECT_EQ(c.attention.rotaryDims, 64);
  EXPECT_TRUE(hasRemark(c, "partial_rotary_factor=0.25 is ignored"));
  c = mustParseHybrid(bambaWith(
      R"("rope_theta": 500.0, "rope_parameters": {"rope_type": "default",
         "rope_theta": 7.0, "partial_rotary_factor": 0.25})"));
  EXPECT_EQ(c.attention.ropeTheta, 7.0);
  EXPECT_EQ(c.attention.rotaryDims, 32);
}

TEST(HybridConfig, Layers) {
  HybridConfig c = mustParseHybrid(
      bambaWith(R"("num_hidden_layers": 4, "attn_layer_indices": [1, 3])"));
  EXPECT_EQ(kinds(c), "M*M*");
  EXPECT_EQ(blocksOf(c).size(), 8u);
  EXPECT_EQ(blocksOf(c)[2].module, "model.layers.1.self_attn");
  EXPECT_EQ(blocksOf(c)[3].norm, "model.layers.1.pre_ff_layernorm.weight");
  c = mustParseHybrid(nemotronWith(
      R"("layers_block_type": ["mamba", "attention", "mlp",
         "linear_attention", "full_attention"], "num_hidden_layers": 52)"));
  EXPECT_EQ(kinds(c), "M*-M*");
  EXPECT_TRUE(hasRemark(c, "hybrid_override_pattern=\"M-*M\" is ignored"));
  EXPECT_TRUE(hasRemark(c, "num_hidden_layers=52 is ignored"));
  c = mustParseHybrid(bambaWith("\"num_key_value_heads\": null"));
  EXPECT_EQ(c.attention.keyHeads, 32);
}

TEST(HybridConfig, OtherFormsAreRead) {
  auto config = parseModelConfig(ssmText, "config.json");
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(std::get<Mamba2Config>(*config).numLayers, 24);
}

TEST(HybridConfigErrors, ExpertsAreRefusedByName) {
  expectParts(errorIn(with(nemotron, "M-*M", "ME*M")),
              {"hybrid_override_pattern", "layer 1 is 'E'",
               "mixture of experts (MoE)", "mlp (-)"});
  expectParts(errorIn(nemotronWith("\"layers_block_type\": [\"moe\"]")),
              {"layers_block_type", "layer 0 is 'moe'", "MoE"});
  expectParts(errorIn(with(nemotron, "M-*M", "M?")),
              {"hybrid_override_pattern", "layer 1 is '?', no kind of layer"});
  expectParts(errorIn(R"({"model_type": "nemotron_h"})"),
              {"layers_block_type", "hybrid_override_pattern", "got none"});
}

TEST(HybridConfigErrors, WhatIsNotSupported) {
  expectParts(errorIn(nemotronWith("\"sliding_window\": 512")),
              {"sliding_window", "512", "not supported"});
  expectParts(errorIn(nemotronWith("\"mlp_hidden_act\": \"silu\"")),
              {"mlp_hidden_act", "expected relu2", "'silu'"});
  expectParts(errorIn(nemotronWith("\"mamba_hidden_act\": \"gelu\"")),
              {"mamba_hidden_act", "silu", "'gelu'"});
  expectParts(errorIn(nemotronWith("\"zeta\": 1")), {"'zeta'"});
  for (const char *token : {"128000", "-1", "0.5", "\"0\""})
    expectParts(errorIn(bambaWith("\"pad_token_id\": " + std::string(token))),
                {"pad_token_id", "null, or a whole number from 0 to 127999"});
  expectParts(errorIn(bambaWith("\"hidden_act\": \"relu2\"")),
              {"hidden_act", "silu", "'relu2'"});
  expectParts(errorIn(bambaWith("\"rope_scaling\": {\"type\": \"yarn\"}")),
              {"rope_scaling", "scaled rotary frequencies"});
  expectParts(
      errorIn(bambaWith("\"rope_parameters\": {\"rope_type\": \"yarn\"}")),
      {"rope_parameters.rope_type", "expected default", "'yarn'"});
  expectParts(errorIn(bambaWith("\"rope_parameters\": {\"factor\": 2}")),
              {"'rope_parameters.factor'"});
  expectParts(errorOf(parseModelConfig(bamba, "c", Semantics::MambaSSM)),
              {"model_type", "'bamba'", "mamba_ssm"});
  expectParts(errorIn(R"({"model_type": "llama"})"),
              {"mamba2", "bamba", "nemotron_h", "'llama'"});
}

TEST(HybridConfigErrors, Contradictions) {
  expectParts(errorIn(bambaWith("\"mamba_d_head\": 32")),
              {"mamba_n_heads * mamba_d_head", "2 * 4096", "128 * 32"});
  expectParts(errorIn(bambaWith("\"mamba_n_groups\": 3")),
              {"mamba_n_groups", "divisor of mamba_n_heads = 128"});
  expectParts(errorIn(nemotronWith("\"n_groups\": 3")),
              {"n_groups", "divisor of mamba_num_heads = 128"});
  expectParts(errorIn(nemotronWith("\"num_key_value_heads\": 3")),
              {"num_key_value_heads", "divisor of num_attention_heads = 32"});
  expectParts(errorIn(bambaWith("\"attn_layer_indices\": [32]")),
              {"attn_layer_indices", "from 0 to 31", "[32]"});
  expectParts(errorIn(bambaWith("\"attn_layer_indices\": 3")),
              {"attn_layer_indices", "a list"});
  expectParts(errorIn(bambaWith("\"head_dim\": 6")),
              {"rope_parameters", "even number of the 6 channels"});
  expectParts(
      errorIn(bambaWith("\"rope_parameters\": {\"partial_rotary_factor\": 2}")),
      {"at most 1"});
  expectParts(errorIn(bambaWith("\"num_hidden_layers\": 65537")),
              {"num_hidden_layers", "65536", "65537"});
  expectParts(errorIn(nemotronWith("\"intermediate_size\": 2147483647, "
                                   "\"hidden_size\": 2147483647")),
              {"intermediate_size", "2^63"});
}
