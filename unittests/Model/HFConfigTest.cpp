//===- HFConfigTest.cpp - Tests of published configurations ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigTexts.h"

#include <cmath>

using namespace cp;
using namespace cp::test;

static bool hasRemark(const Mamba2Config &config, const std::string &start) {
  for (const std::string &remark : config.remarks)
    if (remark.rfind(start, 0) == 0)
      return true;
  return false;
}

TEST(HFConfig, ReadsTheTransformersForm) {
  Mamba2Config c = mustParse(hfText);
  EXPECT_EQ(c.semantics, Semantics::Transformers);
  EXPECT_EQ(c.hiddenSize, 768);
  EXPECT_EQ(c.numLayers, 24);
  EXPECT_EQ(c.numHeads, 24);
  EXPECT_EQ(c.headDim, 64);
  EXPECT_EQ(c.stateSize, 128);
  EXPECT_EQ(c.numGroups, 1);
  EXPECT_EQ(c.convKernel, 4);
  EXPECT_EQ(c.vocabSize, 50288);
  EXPECT_EQ(c.paddedVocabSize, 50288);
  EXPECT_EQ(c.chunkSize, 256);
  EXPECT_EQ(c.normEpsilon, 1e-5);
  EXPECT_EQ(c.dtMin, 0);
  EXPECT_TRUE(std::isinf(c.dtMax));
  EXPECT_FALSE(c.useBias);
  EXPECT_TRUE(c.useConvBias);
  EXPECT_TRUE(c.tieEmbeddings);
  EXPECT_TRUE(c.residualInF32);
  EXPECT_EQ(c.initializerRange, 0.1);
  EXPECT_FALSE(c.rescaleResidual);
  // By hand: 2 * 768, 1536 + 2 * 128, 1536 + 1792 + 24.
  EXPECT_EQ(c.innerSize(), 1536);
  EXPECT_EQ(c.convDim(), 1792);
  EXPECT_EQ(c.inProjSize(), 3352);
}

TEST(HFConfig, BothFormsAreOneModel) {
  Mamba2Config a = mustParse(hfText), b = mustParse(ssmText);
  EXPECT_EQ(b.semantics, Semantics::MambaSSM);
  EXPECT_EQ(a.hiddenSize, b.hiddenSize);
  EXPECT_EQ(a.numLayers, b.numLayers);
  EXPECT_EQ(a.numHeads, b.numHeads);
  EXPECT_EQ(a.headDim, b.headDim);
  EXPECT_EQ(a.stateSize, b.stateSize);
  EXPECT_EQ(a.numGroups, b.numGroups);
  EXPECT_EQ(a.convKernel, b.convKernel);
  EXPECT_EQ(a.paddedVocabSize, b.paddedVocabSize);
  EXPECT_EQ(b.vocabSize, 50277);
  EXPECT_EQ(a.chunkSize, b.chunkSize);
  EXPECT_EQ(a.tieEmbeddings, b.tieEmbeddings);
  EXPECT_EQ(a.normBeforeGate, b.normBeforeGate);
  EXPECT_TRUE(b.remarks.empty());
}

TEST(HFConfig, AbsentFieldsTakeTheDefaultsOfTransformers) {
  Mamba2Config c = mustParse(R"({"model_type": "mamba2"})");
  EXPECT_EQ(c.hiddenSize, 4096);
  EXPECT_EQ(c.numHeads, 128);
  EXPECT_EQ(c.numGroups, 8);
  EXPECT_EQ(c.numLayers, 64);
  EXPECT_EQ(c.vocabSize, 32768);
  EXPECT_EQ(c.initializerRange, 0.1);
  EXPECT_FALSE(c.tieEmbeddings);
  for (const char *key :
       {"num_heads", "head_dim", "vocab_size", "hidden_size", "state_size",
        "num_hidden_layers", "conv_kernel", "n_groups", "expand"})
    EXPECT_TRUE(hasRemark(c, std::string(key) + " is absent")) << key;
}

TEST(HFConfig, AbsentFieldsTakeTheDefaultsOfMambaSsm) {
  Mamba2Config c = mustParse(R"({"ssm_cfg": {"layer": "Mamba2"}})");
  EXPECT_EQ(c.hiddenSize, 2560);
  EXPECT_EQ(c.numLayers, 64);
  EXPECT_EQ(c.vocabSize, 50277);
  // Up to the default multiple, 8.
  EXPECT_EQ(c.paddedVocabSize, 50280);
  EXPECT_EQ(c.numHeads, 80);
  EXPECT_TRUE(c.tieEmbeddings);
  EXPECT_TRUE(hasRemark(c, "d_model is absent"));
}

TEST(HFConfig, SemanticsOfTheGatedNorm) {
  std::string text = with(hfText, "\"n_groups\": 1", "\"n_groups\": 4");
  Mamba2Config now = mustParse(text);
  EXPECT_EQ(now.normGroups, 4);
  EXPECT_FALSE(now.normBeforeGate);
  EXPECT_TRUE(
      hasRemark(now, "norm_before_gate=true is ignored by transformers"));
  EXPECT_TRUE(hasRemark(now, "rms_norm=true is ignored by transformers"));
  EXPECT_TRUE(hasRemark(now, "time_step_rank=48 is ignored by transformers"));
  EXPECT_TRUE(hasRemark(now, "n_groups: the gated norm works per group"));
  Mamba2Config old = mustParse(text, Semantics::TransformersUngrouped);
  EXPECT_EQ(old.normGroups, 1);
  EXPECT_FALSE(old.normBeforeGate);
  EXPECT_TRUE(hasRemark(old, "n_groups is ignored by transformers-ungrouped"));
  Mamba2Config ssm = mustParse(text, Semantics::MambaSSM);
  EXPECT_EQ(ssm.normGroups, 4);
  EXPECT_TRUE(ssm.normBeforeGate);
  EXPECT_TRUE(hasRemark(ssm, "norm_before_gate=true is honoured by mamba_ssm"));
}

TEST(HFConfig, WhatMambaSsmIgnores) {
  std::string text = with(hfText, "1e-05", "1e-06");
  Mamba2Config own = mustParse(text);
  EXPECT_EQ(own.normEpsilon, 1e-6);
  EXPECT_EQ(own.gatedNormEpsilon, 1e-6);
  Mamba2Config c = mustParse(text, Semantics::MambaSSM);
  EXPECT_EQ(c.normEpsilon, 1e-5);
  EXPECT_EQ(c.gatedNormEpsilon, 1e-5);
  EXPECT_EQ(c.initializerRange, 0.02);
  EXPECT_TRUE(c.rescaleResidual);
  for (const char *key : {"layer_norm_epsilon", "initializer_range",
                          "rescale_prenorm_residual", "time_step_rank"})
    EXPECT_TRUE(hasRemark(c, std::string(key) + "=")) << key;
}

TEST(HFConfig, HonoursEveryOtherField) {
  std::string text = hfText;
  text = with(text, "\"use_bias\": false", "\"use_bias\": true");
  text = with(text, "\"use_conv_bias\": true", "\"use_conv_bias\": false");
  text =
      with(text, "\"residual_in_fp32\": true", "\"residual_in_fp32\": false");
  text = with(text, "_embeddings\": true", "_embeddings\": false");
  text = with(text, "residual\": false", "residual\": true");
  text = with(text, "[0.0, Infinity]", "[0.25, 2]");
  text = with(text, "\"chunk_size\": 256", "\"chunk_size\": 64");
  text = with(text, "\"silu\"", "\"swish\"");
  text = with(text, "\"time_step_floor\": 0.0001", "\"time_step_floor\": 0.5");
  text = plus(text, "\"intermediate_size\": 1536");
  Mamba2Config c = mustParse(text);
  EXPECT_TRUE(c.useBias);
  EXPECT_FALSE(c.useConvBias);
  EXPECT_FALSE(c.residualInF32);
  EXPECT_FALSE(c.tieEmbeddings);
  EXPECT_TRUE(c.rescaleResidual);
  EXPECT_EQ(c.dtMin, 0.25);
  EXPECT_EQ(c.dtMax, 2);
  EXPECT_EQ(c.chunkSize, 64);
  EXPECT_EQ(c.dtInitFloor, 0.5);
}

TEST(HFConfig, InfinityInEverySpelling) {
  for (const char *spelling :
       {"Infinity", "1e999", "{\"__float__\": \"Infinity\"}"})
    EXPECT_TRUE(std::isinf(mustParse(with(hfText, "Infinity", spelling)).dtMax))
        << spelling;
  // Inside a string it is text, and a NaN where nobody looks harms nothing.
  mustParse(with(hfText, "4.44.0", "Infinity \\\" NaN -Infinity"));
  mustParse(with(hfText, "\"bos_token_id\": 0", "\"bos_token_id\": NaN"));
}

TEST(HFConfig, HonoursTheMixerOfMambaSsm) {
  Mamba2Config c = mustParse(
      ssm(R"("d_state": 64, "d_conv": 3, "expand": 4, "headdim": 32,)"
          R"("ngroups": 8, "A_init_range": [2, 5], "D_has_hdim": true,)"
          R"("rmsnorm": false, "norm_before_gate": true, "dt_min": 0.01,)"
          R"("dt_max": 0.5, "dt_init_floor": 0.02, "dt_limit": [0.1, 9],)"
          R"("bias": true, "conv_bias": false, "chunk_size": 128,)"
          R"("d_ssm": 3072, "conv_init": 0.5, "use_mem_eff_path": false)"));
  EXPECT_EQ(c.stateSize, 64);
  EXPECT_EQ(c.convKernel, 3);
  EXPECT_EQ(c.headDim, 32);
  EXPECT_EQ(c.numHeads, 96);
  EXPECT_EQ(c.numGroups, 8);
  EXPECT_EQ(c.normGroups, 8);
  EXPECT_EQ(c.aInitMin, 2);
  EXPECT_EQ(c.aInitMax, 5);
  EXPECT_TRUE(c.dHasHeadDim);
  EXPECT_FALSE(c.hasGatedNorm);
  EXPECT_TRUE(c.normBeforeGate);
  EXPECT_TRUE(hasRemark(c, "ssm_cfg.norm_before_gate=true is ignored"));
  EXPECT_EQ(c.dtInitMin, 0.01);
  EXPECT_EQ(c.dtInitMax, 0.5);
  EXPECT_EQ(c.dtInitFloor, 0.02);
  EXPECT_EQ(c.dtMin, 0.1);
  EXPECT_EQ(c.dtMax, 9);
  EXPECT_TRUE(c.useBias);
  EXPECT_FALSE(c.useConvBias);
  EXPECT_EQ(c.chunkSize, 128);
  EXPECT_EQ(c.convInit, 0.5);
}

TEST(HFConfig, MambaSsmFormUnderTransformers) {
  std::string text = ssm(R"("ngroups": 4, "norm_before_gate": true,)"
                         R"("A_init_range": [1, 16], "conv_init": 0.5)");
  Mamba2Config c = mustParse(text, Semantics::Transformers);
  EXPECT_FALSE(c.normBeforeGate);
  EXPECT_EQ(c.normGroups, 4);
  EXPECT_FALSE(c.convInit.has_value());
  for (const char *key : {"norm_before_gate", "A_init_range", "conv_init"})
    EXPECT_TRUE(hasRemark(c, std::string("ssm_cfg.") + key + "=")) << key;
  Mamba2Config old = mustParse(text, Semantics::TransformersUngrouped);
  EXPECT_EQ(old.normGroups, 1);
  EXPECT_TRUE(hasRemark(old, "ssm_cfg.ngroups is ignored"));
  Mamba2Config attention = mustParse(
      with(ssmText, "\"attn_cfg\": {}", "\"attn_cfg\": {\"num_heads\": 4}"));
  EXPECT_TRUE(hasRemark(attention, "attn_cfg is ignored"));
}

TEST(HFConfig, NamesOfSemantics) {
  for (Semantics s : {Semantics::Transformers, Semantics::TransformersUngrouped,
                      Semantics::MambaSSM})
    EXPECT_EQ(parseSemantics(semanticsName(s)), s);
  EXPECT_EQ(parseSemantics("mamba_ssm"), Semantics::MambaSSM);
  EXPECT_FALSE(parseSemantics("pytorch").has_value());
}
