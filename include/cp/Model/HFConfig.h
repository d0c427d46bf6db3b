//===- HFConfig.h - Reading a published config.json -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_HFCONFIG_H
#define CP_MODEL_HFCONFIG_H

#include "cp/Model/HybridConfig.h"
#include "cp/Model/Mamba2Config.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <variant>

namespace cp {

/// Reads the text of a config.json in one of two published forms:
///   - model_type "mamba2", as transformers' Mamba2Config writes it;
///   - state-spaces' own (d_model, n_layer, ssm_cfg with layer "Mamba2"), as
///     mamba_ssm's MambaConfig reads it.
/// Absent fields take that library's default. `semantics` chooses where the two
/// libraries disagree; without it each form follows its own library. `label`
/// starts each message. Python's Infinity is read, as a literal and as
/// transformers 5 writes it ({"__float__": "Infinity"}).
///
/// Errors name the field: invalid JSON, a name twice, a wrong type, a value out
/// of range, sizes that contradict each other or whose products overflow, and
/// every field that cannot be honoured: unknown ones, other activations,
/// attention layers, MLPs, LayerNorm.
llvm::Expected<Mamba2Config>
parseMamba2Config(llvm::StringRef text, llvm::StringRef label,
                  std::optional<Semantics> semantics = std::nullopt);

/// The same for a file of at most 16 MB; errors name it.
llvm::Expected<Mamba2Config>
readMamba2Config(llvm::StringRef path,
                 std::optional<Semantics> semantics = std::nullopt);

/// A model of any served kind.
using ModelConfig = std::variant<Mamba2Config, HybridConfig>;

/// What was to say about its fields.
const std::vector<std::string> &remarksOf(const ModelConfig &config);

/// Reads what parseMamba2Config() reads, and the hybrids as transformers'
/// config classes write them:
///   - model_type "bamba": BambaConfig;
///   - model_type "nemotron_h": NemotronHConfig, whose layers come as
///     layers_block_type or as hybrid_override_pattern;
///   - model_type "granitemoehybrid": GraniteMoeHybridConfig, with
///     num_local_experts = 0.
/// Only transformers' semantics has hybrids. Errors are as above; layers of
/// experts (MoE), scaled rotary frequencies and other activations are refused
/// by the name of their field.
llvm::Expected<ModelConfig>
parseModelConfig(llvm::StringRef text, llvm::StringRef label,
                 std::optional<Semantics> semantics = std::nullopt);

} // namespace cp

#endif // CP_MODEL_HFCONFIG_H
