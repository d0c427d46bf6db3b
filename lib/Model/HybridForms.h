//===- HybridForms.h - Forms of models of several kinds ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_HYBRIDFORMS_H
#define CP_MODEL_HYBRIDFORMS_H

#include "ConfigForms.h"
#include "FieldReader.h"

#include "cp/Model/HybridConfig.h"

namespace cp {

/// The blocks of a layer that has a mixer and an MLP, under transformers' usual
/// names; those of the MLP's norm and of the MLP differ.
std::vector<HybridBlock> mixerAndMlp(size_t layer, BlockKind kind,
                                     llvm::StringRef mlpNorm,
                                     llvm::StringRef mlp);

/// The fields of BambaMixer, which GraniteMoeHybridMambaLayer shares; the
/// hidden size is known. Gives mamba_expand.
int64_t readBambaMixer(FieldReader &fields, LanguageModel &model,
                       MixerConfig &mixer);

/// What those two call the sizes.
extern const SizeNames bambaNames;

/// The part of a head's channels that is rotated; fails where it is not an even
/// number of them, from 2 to all.
void setRotaryPart(FieldReader &fields, double part, AttentionConfig &config);

/// num_key_value_heads: 8 when absent, as many as there are query heads when
/// null.
int64_t readKeyHeads(FieldReader &fields, int64_t heads,
                     std::vector<std::string> &remarks);

/// Whether there are few enough layers to list; fails about `key` otherwise.
bool expectLayers(FieldReader &fields, llvm::StringRef key, int64_t count);

/// numGroups divides the Mamba heads, keyHeads the query heads, and neither the
/// shapes of the weights nor 8 bytes for every parameter overflow.
llvm::Error checkHybridSizes(const HybridConfig &config, const SizeNames &names,
                             llvm::StringRef label);

} // namespace cp

#endif // CP_MODEL_HYBRIDFORMS_H
