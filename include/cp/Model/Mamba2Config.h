//===- Mamba2Config.h - What defines a Mamba-2 model ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description for both published forms. A layer, for token states u:
//   u += mixer(norm(u))
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_MAMBA2CONFIG_H
#define CP_MODEL_MAMBA2CONFIG_H

#include "cp/Model/LanguageModel.h"
#include "cp/Model/MixerConfig.h"

namespace cp {

/// A Mamba-2 language model. What parseMamba2Config() returns has been checked:
/// sizes are positive, numGroups divides numHeads, and no product of them that
/// the shapes of the weights or their bytes need overflows.
struct Mamba2Config : LanguageModel, MixerConfig {};

} // namespace cp

#endif // CP_MODEL_MAMBA2CONFIG_H
