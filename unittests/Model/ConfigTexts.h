//===- ConfigTexts.h - Published configurations for the tests ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_CONFIGTEXTS_H
#define CP_MODEL_CONFIGTEXTS_H

#include "cp/Model/HFConfig.h"

#include "TestFiles.h"

#include <string>

namespace cp::test {

/// mamba2-130m as transformers publishes it.
inline const std::string hfText = R"({
  "architectures": ["Mamba2ForCausalLM"],
  "bos_token_id": 0, "chunk_size": 256, "conv_kernel": 4, "eos_token_id": 0,
  "expand": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 768,
  "initializer_range": 0.1, "layer_norm_epsilon": 1e-05,
  "model_type": "mamba2", "n_groups": 1, "norm_before_gate": true,
  "num_heads": 24, "num_hidden_layers": 24, "pad_token_id": 0,
  "rescale_prenorm_residual": false, "residual_in_fp32": true,
  "rms_norm": true, "state_size": 128, "tie_word_embeddings": true,
  "time_step_floor": 0.0001, "time_step_limit": [0.0, Infinity],
  "time_step_max": 0.1, "time_step_min": 0.001, "time_step_rank": 48,
  "torch_dtype": "float32", "transformers_version": "4.44.0",
  "use_bias": false, "use_cache": true, "use_conv_bias": true,
  "vocab_size": 50288
})";

/// The same model as state-spaces publishes it.
inline const std::string ssmText = R"({
  "d_model": 768, "d_intermediate": 0, "n_layer": 24, "vocab_size": 50277,
  "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [], "attn_cfg": {},
  "rms_norm": true, "residual_in_fp32": true, "fused_add_norm": true,
  "pad_vocab_size_multiple": 16, "tie_embeddings": true
})";

/// `text` with `from`, which must be there, replaced by `to`.
inline std::string with(std::string text, const std::string &from,
                        const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// `text` with more members at its end.
inline std::string plus(const std::string &text, const std::string &members) {
  return text.substr(0, text.rfind('}')) + ", " + members + "}";
}

/// The state-spaces text with members in its ssm_cfg.
inline std::string ssm(const std::string &members) {
  return with(ssmText, "\"Mamba2\"", "\"Mamba2\", " + members);
}

inline Mamba2Config
mustParse(const std::string &text,
          std::optional<Semantics> semantics = std::nullopt) {
  auto config = parseMamba2Config(text, "config.json", semantics);
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

} // namespace cp::test

#endif // CP_MODEL_CONFIGTEXTS_H
