//===- TransformersConfig.cpp - transformers form of a configuration ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields and defaults: class Mamba2Config of models/mamba2/
// configuration_mamba2.py in transformers 5.23.0. What each field does:
// modeling_mamba2.py there, and mamba_ssm 2.3.2 for the other semantics; the
// function that decided is named at each rule.
//
//===----------------------------------------------------------------------===//

#include "ConfigForms.h"
#include "FieldReader.h"
#include "Files/FileIO.h"
#include "TransformersFields.h"

#include <tuple>

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static constexpr StringRef library = "transformers";

static void readSizes(FieldReader &fields, Mamba2Config &c) {
  auto size = [&](StringRef key, int64_t absent) {
    return fields.size(key, absent, library, c.remarks);
  };
  c.numHeads = size("num_heads", 128);
  c.headDim = size("head_dim", 64);
  c.vocabSize = c.paddedVocabSize = size("vocab_size", 32768);
  c.hiddenSize = size("hidden_size", 4096);
  c.stateSize = size("state_size", 128);
  c.numLayers = size("num_hidden_layers", 64);
  c.convKernel = size("conv_kernel", 4);
  c.numGroups = size("n_groups", 8);
  c.chunkSize = fields.size("chunk_size", 256);
}

/// Norms and their gate.
static void readNorms(FieldReader &fields, Mamba2Config &c) {
  double epsilon = fields.real("layer_norm_epsilon", 1e-5, 0, /*open=*/true);
  bool rmsNorm = fields.flag("rms_norm", true);
  bool before = fields.flag("norm_before_gate", false);
  if (c.semantics == Semantics::MambaSSM) {
    // MambaLMHeadModel.__init__ passes no epsilon to MixerModel (1e-5), and
    // Mamba2.__init__ gives RMSNormGated 1e-5.
    fields.remarkIgnored(c, "layer_norm_epsilon", "its norms use 1e-05");
    // create_block: norm_cls = nn.LayerNorm if not rms_norm.
    if (!rmsNorm)
      fields.fail("rms_norm", "false makes mamba_ssm use LayerNorm, which is "
                              "not supported; expected true");
    // Mamba2.__init__: group_size=d_ssm // ngroups, norm_before_gate as given.
    c.normGroups = c.numGroups;
    c.normBeforeGate = before;
    if (before)
      c.remarks.push_back("norm_before_gate=true is honoured by mamba_ssm; "
                          "transformers ignores it and puts the gate first");
    return;
  }
  // Mamba2Block and Mamba2Mixer.__init__ give both norms this epsilon.
  c.normEpsilon = c.gatedNormEpsilon = epsilon;
  fields.remarkIgnored(c, "rms_norm", "its norms are always RMS norms");
  // MambaRMSNormGated.forward multiplies by silu(gate) before the mean square.
  fields.remarkIgnored(c, "norm_before_gate", "its gate always comes first");
  // 5.23: group_size=intermediate_size // n_groups; up to 5.22 no group_size.
  bool grouped = c.semantics == Semantics::Transformers;
  c.normGroups = grouped ? c.numGroups : 1;
  if (c.numGroups > 1)
    c.remarks.push_back(
        grouped ? "n_groups: the gated norm works per group, as in "
                  "transformers from 5.23; older ones normalise over all inner "
                  "channels (semantics transformers-ungrouped)"
                : "n_groups is ignored by transformers-ungrouped in the gated "
                  "norm, which runs over all inner channels");
}

static void readSteps(FieldReader &fields, Mamba2Config &c) {
  // transformers: mamba2_chunk_scan clamps after softplus; mamba_ssm: the same
  // with dt_limit in mamba_chunk_scan_combined.
  std::tie(c.dtMin, c.dtMax) =
      fields.interval("time_step_limit", {c.dtMin, c.dtMax});
  readStepInitialisation(fields, c);
  // Mamba2Mixer keeps it and reads it nowhere; mamba_ssm's Mamba2 has none.
  if (fields.has("time_step_rank") &&
      fields.valueText("time_step_rank") != "\"auto\"")
    fields.size("time_step_rank", 1);
  fields.remarkIgnored(c, "time_step_rank",
                       "Mamba-2 projects its steps at full rank");
  // Of Mamba 1's dt_proj; Mamba-Codestral's configuration has them.
  for (StringRef key : {"time_step_init_scheme", "time_step_scale"})
    fields.remarkIgnored(c, key, "Mamba-2 has no dt_proj that it would start");
  fields.remarkIgnored(c, "num_query_groups", "n_groups says the groups");
}

static void readInitialisation(FieldReader &fields, LanguageModel &c) {
  double range = fields.real("initializer_range", 0.1, 0, /*open=*/false);
  bool rescale = fields.flag("rescale_prenorm_residual", false);
  if (c.semantics == Semantics::MambaSSM) {
    // _init_weights(initializer_range=0.02, rescale_prenorm_residual=True);
    // MambaLMHeadModel.from_pretrained passes no initializer_cfg.
    c.initializerRange = 0.02;
    c.rescaleResidual = true;
    fields.remarkIgnored(c, "initializer_range", "it starts from 0.02");
    fields.remarkIgnored(c, "rescale_prenorm_residual",
                         "it always rescales when it draws weights");
    return;
  }
  // PreTrainedModel._init_weights: `initializer_range or 0.02`.
  c.initializerRange = range == 0 ? 0.02 : range;
  c.rescaleResidual = rescale;
}

/// Biases, ties, precision, and what would make it another kind of model.
static void readKind(FieldReader &fields, Mamba2Config &c) {
  c.useBias = fields.flag("use_bias", false);
  c.useConvBias = fields.flag("use_conv_bias", true);
  c.tieEmbeddings = fields.flag("tie_word_embeddings", false);
  c.residualInF32 = fields.flag("residual_in_fp32", true);
  readSilu(fields, "hidden_act");
}

Error cp::readTransformersForm(const json::Object &object, StringRef label,
                               Mamba2Config &c) {
  FieldReader fields(object, label.str());
  readSizes(fields, c);
  int64_t expand = fields.size("expand", 2, library, c.remarks);
  readNorms(fields, c);
  readSteps(fields, c);
  readInitialisation(fields, c);
  readKind(fields, c);
  readCommonFields(fields, object, "Mamba2", c.tieEmbeddings);
  // Older configurations hold it; Mamba2Mixer computes expand * hidden_size.
  int64_t inner = fields.size("intermediate_size", c.hiddenSize * expand);
  if (inner != c.hiddenSize * expand)
    fields.fail("intermediate_size", "expected expand * hidden_size = " +
                                         Twine(c.hiddenSize * expand) +
                                         ", got " + Twine(inner));
  if (Error error = fields.finish())
    return error;
  SizeNames names = {"hidden_size",       "expand",     "num_heads",
                     "head_dim",          "state_size", "n_groups",
                     "num_hidden_layers", "vocab_size"};
  return checkSizes(c, c, expand, names, label);
}
