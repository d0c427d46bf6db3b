//===- BambaFields.cpp - What Bamba's and Granite's forms share -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BambaMixer.__init__ of modeling_bamba.py and GraniteMoeHybridMambaLayer of
// modeling_granitemoehybrid.py, in transformers 5.23.0, which are alike.
//
//===----------------------------------------------------------------------===//

#include "HybridForms.h"

#include <algorithm>
#include <tuple>

using namespace cp;
using llvm::StringRef;
using llvm::Twine;

const SizeNames cp::bambaNames = {
    "hidden_size",   "mamba_expand",   "mamba_n_heads",     "mamba_d_head",
    "mamba_d_state", "mamba_n_groups", "num_hidden_layers", "vocab_size"};

/// The size of a Mamba head, which may be "auto".
static void readHeadDim(FieldReader &fields, const LanguageModel &model,
                        int64_t expand, MixerConfig &c) {
  int64_t automatic = expand * model.hiddenSize / c.numHeads;
  bool isAuto = !fields.hasValue("mamba_d_head") ||
                fields.valueText("mamba_d_head") == "\"auto\"";
  c.headDim = isAuto ? automatic : fields.size("mamba_d_head", automatic);
}

int64_t cp::readBambaMixer(FieldReader &fields, LanguageModel &model,
                           MixerConfig &c) {
  auto size = [&](StringRef key, int64_t absent) {
    return fields.size(key, absent, "transformers", model.remarks);
  };
  c.numHeads = size("mamba_n_heads", 128);
  c.stateSize = size("mamba_d_state", 256);
  c.numGroups = size("mamba_n_groups", 1);
  c.convKernel = size("mamba_d_conv", 4);
  c.chunkSize = fields.size("mamba_chunk_size", 256);
  c.useConvBias = fields.flag("mamba_conv_bias", true);
  c.useBias = fields.flag("mamba_proj_bias", false);
  std::tie(c.dtMin, c.dtMax) =
      fields.interval("time_step_limit", {c.dtMin, c.dtMax});
  // 5.2 to 5.22 keep them; forward() clamps to time_step_limit, and dt_bias
  // starts as ones.
  for (StringRef key : {"time_step_min", "time_step_max"})
    fields.remarkIgnored(model, key, "time_step_limit bounds its steps");
  // The gated norm: group_size = intermediate_size // n_groups.
  c.normGroups = c.numGroups;
  int64_t expand = size("mamba_expand", 2);
  readHeadDim(fields, model, expand, c);
  return expand;
}

void cp::setRotaryPart(FieldReader &fields, double part, AttentionConfig &c) {
  c.rotaryDims = int64_t(double(c.headDim) * std::min(part, 1.0));
  if (part > 1 || c.rotaryDims % 2 != 0 || c.rotaryDims == 0)
    fields.fail("rope_parameters",
                "expected a partial_rotary_factor of at most 1 that makes an "
                "even number of the " +
                    Twine(c.headDim) + " channels of a head, got " +
                    std::to_string(part));
}
