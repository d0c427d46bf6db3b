//===- ConfigChecks.cpp - Sizes that must fit each other ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigForms.h"
#include "Files/Checked.h"
#include "Files/FileIO.h"

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

std::optional<int64_t> cp::bytesOfMamba(const LanguageModel &model,
                                        const MixerConfig &c) {
  Checked width = model.hiddenSize;
  Checked inner = Checked(c.numHeads) * c.headDim;
  Checked conv = inner + Checked(2) * c.numGroups * c.stateSize;
  Checked inProj = inner + conv + c.numHeads;
  Checked layer = inProj * width + inProj + conv * c.convKernel + conv +
                  inner * width + width * 2 + inner * 2 +
                  Checked(3) * c.numHeads;
  Checked table = Checked(2) * model.paddedVocabSize * width;
  return (Checked(8) * (layer * model.numLayers + table + width)).get();
}

Error cp::checkSizes(const LanguageModel &model, const MixerConfig &c,
                     int64_t expand, const SizeNames &names, StringRef label) {
  std::string start = label.str() + ": ";
  Checked inner = Checked(c.numHeads) * c.headDim;
  Checked expanded = Checked(expand) * model.hiddenSize;
  if (inner.get() != expanded.get() || !inner.get())
    return makeError(start + names.heads + " * " + names.headDim +
                     ": expected " + names.expand + " * " + names.hidden +
                     " = " + Twine(expand) + " * " + Twine(model.hiddenSize) +
                     ", got " + Twine(c.numHeads) + " * " + Twine(c.headDim));
  if (c.numHeads % c.numGroups != 0)
    return makeError(start + names.groups + ": expected a divisor of " +
                     names.heads + " = " + Twine(c.numHeads) + ", got " +
                     Twine(c.numGroups));
  if (model.numLayers > maxLayers)
    return makeError(start + names.layers + ": expected at most " +
                     Twine(maxLayers) + ", got " + Twine(model.numLayers));
  if (!bytesOfMamba(model, c))
    return makeError(start + names.hidden + ", " + names.expand + ", " +
                     names.groups + ", " + names.state + ", " + names.layers +
                     ", " + names.vocab +
                     ": expected weights of less than 2^63 bytes, got more; "
                     "one of these sizes is wrong");
  return Error::success();
}
