//===- HFConfigErrorTest.cpp - Tests of configurations to refuse ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigTexts.h"

using namespace cp;
using namespace cp::test;

static std::string errorIn(const std::string &text,
                           std::optional<Semantics> semantics = std::nullopt) {
  std::string error =
      errorOf(parseMamba2Config(text, "config.json", semantics));
  EXPECT_FALSE(error.empty()) << "accepted: " << text;
  EXPECT_EQ(error.rfind("'config.json': ", 0), 0u) << error;
  return error;
}

TEST(HFConfigErrors, Text) {
  expectParts(errorIn(""), {"valid JSON"});
  expectParts(errorIn("[1]"), {"an object", "a list"});
  expectParts(errorIn("{\"model_type\": mamba2}"), {"valid JSON", "1:"});
  expectParts(errorIn("{}"), {"model_type", "d_model and ssm_cfg"});
  expectParts(errorIn(R"({"model_type": "llama"})"),
              {"model_type", "mamba2", "'llama'"});
  expectParts(errorIn(plus(hfText, "\"n_groups\": 1")),
              {"each name once", "'n_groups'"});
  expectParts(errorIn(std::string(100000, '[')), {"64 levels"});
  for (const char *bad : {"1Infinity", "Infinity1", "--Infinity", "Infinity.0",
                          "xNaN", "InfinityInfinity"})
    expectParts(errorIn(with(hfText, "Infinity", bad)), {"valid JSON"});
}

TEST(HFConfigErrors, SizesMustBeWholeAndPositive) {
  const std::pair<const char *, const char *> fields[] = {
      {"hidden_size", "768"},      {"num_heads", "24"},
      {"head_dim", "64"},          {"state_size", "128"},
      {"n_groups", "1"},           {"conv_kernel", "4"},
      {"num_hidden_layers", "24"}, {"vocab_size", "50288"},
      {"chunk_size", "256"},       {"expand", "2"},
      {"time_step_rank", "48"}};
  for (auto [key, value] : fields)
    for (const char *bad :
         {"0", "-1", "1.5", "2147483648", "9223372036854775808", "1e300",
          "\"8\"", "null", "true", "[8]", "Infinity", "NaN"}) {
      std::string from = std::string("\"") + key + "\": " + value;
      std::string to = std::string("\"") + key + "\": " + bad;
      expectParts(errorIn(with(hfText, from, to)),
                  {key, "whole number from 1 to 2147483647"});
    }
}

TEST(HFConfigErrors, NumbersAndFlags) {
  expectParts(errorIn(with(hfText, "1e-05", "0")),
              {"layer_norm_epsilon", "above 0", "got 0"});
  expectParts(errorIn(with(hfText, "1e-05", "Infinity")),
              {"layer_norm_epsilon", "finite"});
  expectParts(errorIn(with(hfText, "1e-05", "NaN")),
              {"layer_norm_epsilon", "'NaN'"});
  expectParts(errorIn(with(hfText, "\"use_bias\": false", "\"use_bias\": 0")),
              {"use_bias", "true or false", "got 0"});
  expectParts(errorIn(with(hfText, "\"silu\"", "\"gelu\"")),
              {"hidden_act", "silu or swish", "'gelu'"});
  expectParts(errorIn(with(hfText, "\"silu\"", "3")),
              {"hidden_act", "a string", "got 3"});
  expectParts(errorIn(with(hfText, "step_min\": 0.001", "step_min\": 0")),
              {"time_step_min", "above 0"});
  expectParts(errorIn(with(hfText, "step_min\": 0.001", "step_min\": 0.2")),
              {"time_step_max", "at least time_step_min"});
  expectParts(errorIn(with(hfText, "floor\": 0.0001", "floor\": -1")),
              {"time_step_floor", "from 0"});
  for (const char *bad :
       {"[1, 0.5]", "[-1, 1]", "[0]", "[0, NaN]", "[Infinity, Infinity]", "7",
        "[0, -Infinity]", "[0, {\"__float__\": \"NaN\"}]",
        "[0, {\"__float__\": \"-Infinity\"}]", "null"})
    expectParts(errorIn(with(hfText, "[0.0, Infinity]", bad)),
                {"time_step_limit", "0 <= low <= high"});
}

TEST(HFConfigErrors, Contradictions) {
  expectParts(errorIn(with(hfText, "_heads\": 24", "_heads\": 12")),
              {"num_heads * head_dim", "2 * 768", "12 * 64"});
  // A missing size takes the default, and does not fit the others.
  expectParts(errorIn(with(hfText, "\"num_heads\": 24,", "")),
              {"num_heads * head_dim", "128 * 64"});
  expectParts(errorIn(with(hfText, "\"hidden_size\": 768,", "")),
              {"hidden_size", "2 * 4096"});
  expectParts(errorIn(with(hfText, "n_groups\": 1", "n_groups\": 5")),
              {"n_groups", "divisor of num_heads = 24", "got 5"});
  expectParts(errorIn(plus(hfText, "\"intermediate_size\": 1024")),
              {"intermediate_size", "1536", "1024"});
  expectParts(errorIn(with(hfText, "Mamba2ForCausalLM", "LlamaForCausalLM")),
              {"architectures", "'LlamaForCausalLM'"});
  expectParts(errorIn(with(hfText, "[\"Mamba2ForCausalLM\"]", "3")),
              {"architectures", "list of class names"});
}

TEST(HFConfigErrors, AbsurdSizes) {
  std::string text = hfText;
  text = with(text, "_layers\": 24", "_layers\": 65537");
  expectParts(errorIn(text), {"num_hidden_layers", "65536", "65537"});
  text = with(hfText, "size\": 768", "size\": 2147483647");
  text = with(text, "_heads\": 24", "_heads\": 2147483647");
  text = with(text, "_dim\": 64", "_dim\": 2");
  expectParts(errorIn(text), {"hidden_size", "vocab_size", "2^63"});
  text = with(hfText, "_size\": 128", "_size\": 2147483647");
  text = with(text, "n_groups\": 1", "n_groups\": 24");
  text = with(text, "kernel\": 4", "kernel\": 2147483647");
  expectParts(errorIn(text), {"state_size", "2^63"});
}

TEST(HFConfigErrors, WhatIsNotSupported) {
  expectParts(errorIn(plus(hfText, "\"zeta\": 1, \"alpha\": 2")),
              {"known fields", "'alpha', 'zeta'"});
  expectParts(errorIn(plus(hfText, "\"ssm_cfg\": {}")), {"'ssm_cfg'"});
  expectParts(errorIn(plus(hfText, "\"is_encoder_decoder\": true")),
              {"is_encoder_decoder", "not supported"});
  EXPECT_EQ(errorOf(parseMamba2Config(plus(hfText, "\"is_decoder\": false"),
                                      "config.json")),
            "");
  // transformers ignores it; mamba_ssm would take LayerNorm.
  std::string layerNorm = with(hfText, "rms_norm\": true", "rms_norm\": false");
  EXPECT_EQ(errorOf(parseMamba2Config(layerNorm, "config.json")), "");
  expectParts(errorIn(layerNorm, Semantics::MambaSSM),
              {"rms_norm", "LayerNorm"});
}

TEST(HFConfigErrors, MambaSsmForm) {
  expectParts(errorIn(with(ssmText, "mediate\": 0", "mediate\": 64")),
              {"d_intermediate", "64", "an MLP"});
  expectParts(errorIn(with(ssmText, "idx\": []", "idx\": [3]")),
              {"attn_layer_idx", "[3]", "attention layers"});
  expectParts(errorIn(with(ssmText, "rms_norm\": true", "rms_norm\": false")),
              {"rms_norm", "LayerNorm"});
  expectParts(errorIn(plus(ssmText, "\"norm_epsilon\": 1e-6")),
              {"'norm_epsilon'"});
  expectParts(errorIn(with(ssmText, "{\"layer\": \"Mamba2\"}", "{}")),
              {"ssm_cfg.layer", "expected Mamba2", "'Mamba1', the default"});
  expectParts(errorIn(R"({"d_model": 768})"), {"ssm_cfg.layer"});
  expectParts(errorIn(with(ssmText, "{\"layer\": \"Mamba2\"}", "[]")),
              {"ssm_cfg", "an object"});
  expectParts(errorIn(with(ssmText, "\"Mamba2\"", "\"Mamba3\"")),
              {"ssm_cfg.layer", "'Mamba3'"});
  expectParts(errorIn(ssm("\"device\": \"cuda\"")), {"'ssm_cfg.device'"});
  expectParts(errorIn(ssm("\"headdim\": 100")),
              {"ssm_cfg.headdim", "divisor", "1536", "100"});
  expectParts(errorIn(ssm("\"ngroups\": 5")), {"ssm_cfg.ngroups", "= 24"});
  expectParts(errorIn(ssm("\"d_ssm\": 768")),
              {"ssm_cfg.d_ssm", "1536", "gated MLP", "768"});
  expectParts(errorIn(ssm("\"d_state\": 0")), {"ssm_cfg.d_state"});
  expectParts(errorIn(ssm("\"dt_min\": 1")), {"ssm_cfg.dt_max", "dt_min"});
  expectParts(errorIn(ssm("\"A_init_range\": [0, 1]")),
              {"ssm_cfg.A_init_range", "above 0"});
  expectParts(errorIn(ssm("\"A_init_range\": [1, Infinity]")),
              {"ssm_cfg.A_init_range", "finite"});
  expectParts(errorIn(ssm("\"rmsnorm\": false"), Semantics::Transformers),
              {"ssm_cfg.rmsnorm", "mamba_ssm"});
  expectParts(errorIn(ssm("\"D_has_hdim\": true"), Semantics::Transformers),
              {"ssm_cfg.D_has_hdim", "mamba_ssm"});
}

TEST(HFConfigErrors, Files) {
  TempDir dir;
  expectParts(errorOf(readMamba2Config(dir.path("none"))),
              {"none", "cannot open"});
  expectParts(errorOf(readMamba2Config(dir.write("c", "{}"))),
              {"c'", "model_type"});
  EXPECT_EQ(errorOf(readMamba2Config(dir.write("d", hfText))), "");
  expectParts(errorOf(readMamba2Config(
                  dir.write("big", std::string((16 << 20) + 1, ' ')))),
              {"at most 16777216"});
}
