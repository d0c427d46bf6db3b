//===- TransformersFields.h - What all of its forms have --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_TRANSFORMERSFIELDS_H
#define CP_MODEL_TRANSFORMERSFIELDS_H

#include "FieldReader.h"

#include "cp/Model/MixerConfig.h"

namespace cp {

/// Reads the fields of PreTrainedConfig and of generation: most change no logit
/// of a full sequence; `architectures` must be `name`ForCausalLM or, for a
/// model that makes its logits with the embedding, `name`Model, and nothing may
/// ask for an encoder, pruned heads or quantized weights.
void readCommonFields(FieldReader &fields, const llvm::json::Object &object,
                      llvm::StringRef name, bool tiesEmbeddings);

/// The activation under `key`, which must be silu.
void readSilu(FieldReader &fields, llvm::StringRef key);

/// time_step_min, _max and _floor, from which dt_bias is drawn.
void readStepInitialisation(FieldReader &fields, MixerConfig &config);

} // namespace cp

#endif // CP_MODEL_TRANSFORMERSFIELDS_H
