//===- ConfigForms.h - The two published forms ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_CONFIGFORMS_H
#define CP_MODEL_CONFIGFORMS_H

#include "cp/Model/Mamba2Config.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// What a form calls the sizes, for messages.
struct SizeNames {
  const char *hidden;
  const char *expand;
  const char *heads;
  const char *headDim;
  const char *state;
  const char *groups;
  const char *layers;
  const char *vocab;
};

/// Reads transformers' form; `config.semantics` is set and the rest filled.
llvm::Error readTransformersForm(const llvm::json::Object &object,
                                 llvm::StringRef label, Mamba2Config &config);

/// The same for state-spaces' form.
llvm::Error readMambaSsmForm(const llvm::json::Object &object,
                             llvm::StringRef label, Mamba2Config &config);

/// The most layers that any form may have.
constexpr int64_t maxLayers = 65536;

/// Eight bytes for every parameter of a model of Mamba layers alone, or nothing
/// when they overflow.
std::optional<int64_t> bytesOfMamba(const LanguageModel &model,
                                    const MixerConfig &mixer);

/// What both forms need: numHeads * headDim is expand * hiddenSize, numGroups
/// divides numHeads, at most 65536 layers, and no overflow in the shapes of the
/// weights nor in 8 bytes for every parameter.
llvm::Error checkSizes(const LanguageModel &model, const MixerConfig &mixer,
                       int64_t expand, const SizeNames &names,
                       llvm::StringRef label);

} // namespace cp

#endif // CP_MODEL_CONFIGFORMS_H
