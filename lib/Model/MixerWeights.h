//===- MixerWeights.h - The parameters of one mixer -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_MIXERWEIGHTS_H
#define CP_MODEL_MIXERWEIGHTS_H

#include "cp/Model/Weights.h"

namespace cp {

/// How the parameters of a mixer start, where models differ.
struct MixerInits {
  InitSpec inProj;
  InitSpec outProj;
  InitSpec conv;
  InitSpec convBias;
  InitSpec dtBias;
  InitSpec aLog;
};

/// What torch's nn.Linear and nn.Conv1d start from, and init.kaiming_uniform_
/// with a = sqrt(5): uniform within 1/sqrt(fan_in).
InitSpec torchDefault(int64_t fanIn);
/// torchDefault(), smaller where the model rescales the residual.
InitSpec outProjInit(const LanguageModel &model, const MixerConfig &mixer);
/// Drawn between the mixer's limits.
InitSpec dtBiasInit(const MixerConfig &mixer);

/// The parameters of a Mamba-2 mixer, in the order of their use; `start` is the
/// module's name.
void addMixerWeights(const LanguageModel &model, const MixerConfig &mixer,
                     const MixerInits &inits, const std::string &start,
                     std::vector<WeightSpec> &out);

} // namespace cp

#endif // CP_MODEL_MIXERWEIGHTS_H
