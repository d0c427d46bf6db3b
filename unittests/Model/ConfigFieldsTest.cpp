//===- ConfigFieldsTest.cpp - Every field of released configurations ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigFieldRows.h"
#include "ConfigTexts.h"

#include "cp/Model/Weights.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cp;
using namespace cp::test;

namespace {

std::string describe(const LanguageModel &m, const MixerConfig &c) {
  return llvm::formatv("{0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} ",
                       m.hiddenSize, m.numLayers, c.numHeads, c.headDim,
                       c.stateSize, c.numGroups, c.convKernel, m.vocabSize,
                       m.paddedVocabSize, c.chunkSize, c.normGroups)
             .str() +
         llvm::formatv(
             "{0:e} {1:e} {2} {3} {4:e} {5:e} {6} {7} {8} {9} {10} {11} ",
             m.normEpsilon, c.gatedNormEpsilon, c.hasGatedNorm,
             c.normBeforeGate, c.dtMin, c.dtMax, c.useBias, c.useConvBias,
             m.tieEmbeddings, m.residualInF32, c.dHasHeadDim, m.rescaleResidual)
             .str() +
         llvm::formatv("{0:e} {1:e} {2:e} {3:e} {4} {5} {6} {7}", c.dtInitMin,
                       c.dtInitMax, c.dtInitFloor, m.initializerRange,
                       c.aInitMin, c.aInitMax, c.convInit.value_or(-1),
                       m.paddingToken.value_or(-1))
             .str();
}

std::string describe(const ModelConfig &config) {
  if (const auto *mamba = std::get_if<Mamba2Config>(&config))
    return describe(*mamba, *mamba);
  const auto &c = std::get<HybridConfig>(config);
  std::string text = describe(c, c.mamba);
  for (BlockKind kind : c.layers)
    text += " *-"[int(kind)];
  text += llvm::formatv(" {0:e} {1:e} {2:e} {3:e}", c.multipliers.embedding,
                        c.multipliers.residual, c.multipliers.logitsDivisor,
                        c.attention.scale.value_or(-1))
              .str();
  return text + llvm::formatv(" {0} {1} {2} {3} {4} {5} {6} {7}",
                              c.attention.heads, c.attention.keyHeads,
                              c.attention.headDim, c.attention.useBias,
                              c.attention.ropeTheta.value_or(-1),
                              c.attention.rotaryDims, c.mlp.size, c.mlp.useBias)
                    .str();
}

bool hasRemark(const ModelConfig &config, const Row &row) {
  for (const std::string &remark : remarksOf(config))
    if (remark.rfind(row.field, 0) == 0 &&
        remark.find(row.text) != std::string::npos)
      return true;
  return false;
}

void check(const std::string &base, const Row &row) {
  SCOPED_TRACE(std::string(row.members) + " in " + base);
  ASSERT_NE(std::string(row.members).find("\"" + std::string(row.field) + "\""),
            std::string::npos);
  auto before = parseModelConfig(base, "c");
  ASSERT_TRUE(bool(before)) << llvm::toString(before.takeError());
  auto after = parseModelConfig(plus(base, row.members), "c");
  if (row.outcome == Refused) {
    expectParts(errorOf(std::move(after)), {row.field, row.text});
    return;
  }
  ASSERT_TRUE(bool(after)) << llvm::toString(after.takeError());
  EXPECT_EQ(describe(*before) != describe(*after), row.outcome == Honoured);
  if (row.outcome == Remark)
    EXPECT_TRUE(hasRemark(*after, row)) << row.text;
  if (row.outcome == Inert)
    EXPECT_EQ(remarksOf(*before), remarksOf(*after));
}

} // namespace

TEST(ConfigFields, OfMamba2) {
  for (const Row &row : ofAllTransformers)
    check(R"({"model_type": "mamba2"})", row);
  for (const Row &row : ofMamba2)
    check(R"({"model_type": "mamba2"})", row);
}

TEST(ConfigFields, OfBamba) {
  for (const Row &row : ofAllTransformers)
    check(R"({"model_type": "bamba"})", row);
  for (const Row &row : ofBamba)
    check(R"({"model_type": "bamba"})", row);
}

TEST(ConfigFields, OfNemotronH) {
  const std::string base =
      R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-*M"})";
  for (const Row &row : ofAllTransformers)
    check(base, row);
  for (const Row &row : ofNemotronH)
    check(base, row);
  const std::string list =
      R"({"model_type": "nemotron_h", "layers_block_type": ["mamba"]})";
  check(list, {"hybrid_override_pattern", "\"hybrid_override_pattern\": null",
               Inert});
  check(list, {"hybrid_override_pattern", "\"hybrid_override_pattern\": \"M*\"",
               Remark, "layers_block_type"});
}

TEST(ConfigFields, OfGranite) {
  const std::string base =
      R"({"model_type": "granitemoehybrid", "num_local_experts": 0})";
  for (const Row &row : ofAllTransformers)
    check(base, row);
  for (const Row &row : ofGranite)
    check(base, row);
  const std::string turned = plus(base, R"("position_embedding_type": "rope")");
  for (const Row &row : ofTurnedGranite)
    check(turned, row);
  expectParts(
      errorOf(parseModelConfig(R"({"model_type": "granitemoehybrid"})", "c")),
      {"num_local_experts: expected 0, got 8, the default",
       "mixture of experts (MoE)"});
  expectParts(errorOf(parseModelConfig(with(base, ": 0", ": 64"), "c")),
              {"num_local_experts: expected 0, got 64"});
}

TEST(ConfigFields, OfMambaSsm) {
  for (const Row &row : ofMambaSsm)
    check(R"({"ssm_cfg": {"layer": "Mamba2"}})", row);
}

/// Mamba-Codestral-7B as Mistral publishes it.
TEST(ConfigFields, OfMambaCodestral) {
  Mamba2Config c = mustParse(R"({
    "architectures": ["Mamba2ForCausalLM"], "bos_token_id": 0,
    "chunk_size": 256, "conv_kernel": 4, "eos_token_id": 0, "expand": 2,
    "head_dim": 64, "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.1, "intermediate_size": 8192,
    "layer_norm_epsilon": 1e-05, "model_type": "mamba2", "n_groups": 8,
    "norm_before_gate": true, "num_heads": 128, "num_hidden_layers": 64,
    "pad_token_id": 0, "rescale_prenorm_residual": false,
    "residual_in_fp32": true, "rms_norm": true, "state_size": 128,
    "tie_word_embeddings": false, "time_step_floor": 0.0001,
    "time_step_init_scheme": "random", "time_step_limit": [0.0, Infinity],
    "time_step_max": 0.1, "time_step_min": 0.001, "time_step_rank": 256,
    "time_step_scale": 1.0, "torch_dtype": "bfloat16",
    "transformers_version": "4.44.0.dev0", "use_bias": false,
    "use_cache": true, "use_conv_bias": true, "vocab_size": 32768})");
  EXPECT_EQ(c.numHeads, 128);
  EXPECT_EQ(c.numGroups, 8);
}

/// Without its head a tied model still has logits.
TEST(ConfigFields, TiedModelsWithoutAHead) {
  for (auto [type, name] :
       {std::pair("mamba2", "Mamba2Model"), std::pair("bamba", "BambaModel")}) {
    std::string text = std::string("{\"model_type\": \"") + type +
                       "\", \"tie_word_embeddings\": true, "
                       "\"architectures\": [\"" +
                       name + "\"]}";
    EXPECT_EQ(errorOf(parseModelConfig(text, "c")), "");
  }
}
