//===- MambaSsmConfig.cpp - state-spaces form of a configuration ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields and defaults: class MambaConfig of models/config_mamba.py and
// Mamba2.__init__ of modules/mamba2.py in mamba_ssm 2.3.2. What each field
// does: those, models/mixer_seq_simple.py and ops/triton/layernorm_gated.py.
// For transformers' semantics a field stands for the one of the same meaning
// there.
//
//===----------------------------------------------------------------------===//

#include "ConfigForms.h"
#include "FieldReader.h"
#include "Files/FileIO.h"

#include <tuple>

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static constexpr StringRef library = "mamba_ssm";

static bool isMambaSsm(const LanguageModel &c) {
  return c.semantics == Semantics::MambaSSM;
}

static void readModel(FieldReader &fields, LanguageModel &c) {
  c.hiddenSize = fields.size("d_model", 2560, library, c.remarks);
  c.numLayers = fields.size("n_layer", 64, library, c.remarks);
  c.vocabSize = fields.size("vocab_size", 50277, library, c.remarks);
  // MambaLMHeadModel.__init__ rounds the vocabulary up.
  int64_t multiple = fields.size("pad_vocab_size_multiple", 8);
  c.paddedVocabSize = (c.vocabSize + multiple - 1) / multiple * multiple;
  c.tieEmbeddings = fields.flag("tie_embeddings", true);
  c.residualInF32 = fields.flag("residual_in_fp32", true);
  // Block.forward computes the same either way, with other rounding.
  fields.flag("fused_add_norm", true);
  if (!fields.flag("rms_norm", true))
    fields.fail("rms_norm", "false asks for LayerNorm, which is not supported; "
                            "expected true");
  fields.refuseUnlessEmpty("d_intermediate", "an MLP in each block");
  fields.refuseUnlessEmpty("attn_layer_idx", "attention layers");
  // create_block uses it only for the layers of attn_layer_idx.
  if (const json::Object *attention = fields.nested("attn_cfg"))
    if (!attention->empty())
      c.remarks.push_back("attn_cfg is ignored: attn_layer_idx is empty");
}

static int64_t readMixerSizes(FieldReader &fields, Mamba2Config &c) {
  c.stateSize = fields.size("d_state", 128);
  c.convKernel = fields.size("d_conv", 4);
  int64_t expand = fields.size("expand", 2);
  c.headDim = fields.size("headdim", 64);
  c.numGroups = fields.size("ngroups", 1);
  c.chunkSize = fields.size("chunk_size", 256);
  int64_t inner = expand * c.hiddenSize;
  int64_t ssm = fields.hasValue("d_ssm") ? fields.size("d_ssm", inner) : inner;
  if (ssm != inner)
    fields.fail("d_ssm", "expected null or expand * d_model = " + Twine(inner) +
                             " (a gated MLP beside the scan is not supported), "
                             "got " +
                             Twine(ssm));
  if (inner % c.headDim != 0)
    fields.fail("headdim", "expected a divisor of expand * d_model = " +
                               Twine(inner) + ", got " + Twine(c.headDim));
  c.numHeads = inner / c.headDim;
  return expand;
}

static void readNorms(FieldReader &fields, Mamba2Config &c) {
  c.hasGatedNorm = fields.flag("rmsnorm", true);
  bool before = fields.flag("norm_before_gate", false);
  if (isMambaSsm(c)) {
    // Mamba2.__init__: group_size=d_ssm // ngroups, eps=1e-5.
    c.normBeforeGate = before;
    c.normGroups = c.numGroups;
    if (!c.hasGatedNorm)
      fields.remarkIgnored(c, "norm_before_gate",
                           "rmsnorm=false leaves no gated norm");
    return;
  }
  if (!c.hasGatedNorm)
    fields.fail("rmsnorm", "false has no counterpart in transformers, whose "
                           "mixer always has the gated norm; use the semantics "
                           "mamba_ssm");
  // MambaRMSNormGated.forward multiplies by silu(gate) before the mean square.
  fields.remarkIgnored(c, "norm_before_gate", "its gate always comes first");
  bool grouped = c.semantics == Semantics::Transformers;
  c.normGroups = grouped ? c.numGroups : 1;
  if (!grouped && c.numGroups > 1)
    c.remarks.push_back(fields.name("ngroups") +
                        " is ignored by transformers-ungrouped in the gated "
                        "norm, which runs over all inner channels");
}

static void readInitialisation(FieldReader &fields, Mamba2Config &c) {
  c.dtInitMin = fields.real("dt_min", 0.001, 0, /*open=*/true);
  c.dtInitMax = fields.real("dt_max", 0.1, 0, /*open=*/true);
  c.dtInitFloor = fields.real("dt_init_floor", 1e-4, 0, /*open=*/false);
  if (c.dtInitMax < c.dtInitMin)
    fields.fail("dt_max", "expected at least dt_min");
  std::tie(c.aInitMin, c.aInitMax) =
      fields.interval("A_init_range", {1.0, 16.0});
  if (!(c.aInitMin > 0) || c.aInitMax > std::numeric_limits<double>::max())
    fields.fail("A_init_range", "expected finite numbers above 0, got " +
                                    fields.valueText("A_init_range"));
  if (fields.hasValue("conv_init"))
    c.convInit = fields.real("conv_init", 0, 0, /*open=*/false);

  if (isMambaSsm(c)) {
    // _init_weights(initializer_range=0.02, rescale_prenorm_residual=True).
    c.initializerRange = 0.02;
    c.rescaleResidual = true;
    return;
  }
  c.convInit.reset();
  c.initializerRange = 0.1;
  fields.remarkIgnored(c, "A_init_range", "A starts as 1 to the heads");
  fields.remarkIgnored(c, "conv_init", "it has no such field");
}

static Error readMixer(const json::Object &object, StringRef label,
                       Mamba2Config &c, int64_t &expand) {
  FieldReader fields(object, label.str(), "ssm_cfg.");
  // create_block: ssm_cfg.pop("layer", "Mamba1").
  std::string layer = fields.text("layer", "Mamba1");
  if (layer != "Mamba2")
    fields.fail("layer", "expected Mamba2, got " + quoted(layer) +
                             (fields.has("layer") ? "" : ", the default"));
  expand = readMixerSizes(fields, c);
  readNorms(fields, c);
  readInitialisation(fields, c);
  std::tie(c.dtMin, c.dtMax) = fields.interval("dt_limit", {c.dtMin, c.dtMax});
  c.useBias = fields.flag("bias", false);
  c.useConvBias = fields.flag("conv_bias", true);
  c.dHasHeadDim = fields.flag("D_has_hdim", false);
  if (c.dHasHeadDim && !isMambaSsm(c))
    fields.fail("D_has_hdim", "true has no counterpart in transformers; use "
                              "the semantics mamba_ssm");
  // Which kernels compute it, and how training spreads it; not what.
  fields.ignore({"use_mem_eff_path", "sequence_parallel"});
  return fields.finish();
}

Error cp::readMambaSsmForm(const json::Object &object, StringRef label,
                           Mamba2Config &c) {
  FieldReader fields(object, label.str());
  readModel(fields, c);
  json::Object none;
  const json::Object *mixer = fields.nested("ssm_cfg");
  if (Error error = fields.finish())
    return error;
  int64_t expand = 0;
  if (Error error = readMixer(mixer ? *mixer : none, label, c, expand))
    return error;
  SizeNames names = {"d_model",         "ssm_cfg.expand",  "heads",
                     "ssm_cfg.headdim", "ssm_cfg.d_state", "ssm_cfg.ngroups",
                     "n_layer",         "vocab_size"};
  return checkSizes(c, c, expand, names, label);
}
