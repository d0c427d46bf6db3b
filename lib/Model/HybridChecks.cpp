//===- HybridChecks.cpp - Sizes of hybrids that must fit each other -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/Checked.h"
#include "Files/FileIO.h"
#include "HybridForms.h"

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

int64_t cp::readKeyHeads(FieldReader &fields, int64_t heads,
                         std::vector<std::string> &remarks) {
  constexpr StringRef key = "num_key_value_heads";
  if (fields.has(key) && !fields.hasValue(key))
    return heads;
  return fields.size(key, 8, "transformers", remarks);
}

bool cp::expectLayers(FieldReader &fields, StringRef key, int64_t count) {
  if (count <= maxLayers)
    return true;
  fields.fail(key, "expected at most " + Twine(maxLayers) + " layers, got " +
                       Twine(count));
  return false;
}

/// Eight bytes for the parameters of an attention and an MLP, biases included.
static Checked bytesOfLayer(const HybridConfig &config) {
  const AttentionConfig &a = config.attention;
  Checked queries = Checked(a.heads) * a.headDim;
  Checked keys = Checked(a.keyHeads) * a.headDim;
  Checked width = config.hiddenSize;
  Checked attention = (queries + keys) * 2 * (width + 1) + width * 2;
  Checked mlp = (Checked(config.mlp.size) + 1) * (width + 1) * 3;
  return Checked(8) * (attention + mlp);
}

Error cp::checkHybridSizes(const HybridConfig &config, const SizeNames &names,
                           StringRef label) {
  std::string start = label.str() + ": ";
  const MixerConfig &c = config.mamba;
  const AttentionConfig &a = config.attention;
  if (c.numHeads % c.numGroups != 0)
    return makeError(start + names.groups + ": expected a divisor of " +
                     names.heads + " = " + Twine(c.numHeads) + ", got " +
                     Twine(c.numGroups));
  if (a.heads % a.keyHeads != 0)
    return makeError(start +
                     "num_key_value_heads: expected a divisor of "
                     "num_attention_heads = " +
                     Twine(a.heads) + ", got " + Twine(a.keyHeads));
  std::optional<int64_t> mamba = bytesOfMamba(config, c);
  if (!mamba || !(bytesOfLayer(config) * config.numLayers + *mamba).get())
    return makeError(start + names.hidden + ", " + names.heads + ", " +
                     names.state +
                     ", num_attention_heads, head_dim, intermediate_size, " +
                     names.layers + ", " + names.vocab +
                     ": expected weights of less than 2^63 bytes, got more; "
                     "one of these sizes is wrong");
  return Error::success();
}
