//===- NemotronHConfig.cpp - transformers' form of Nemotron-H -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields and defaults: NemotronHConfig of configuration_nemotron_h.py in
// transformers 5.23.0; what each does: modeling_nemotron_h.py there.
//
//===----------------------------------------------------------------------===//

#include "Files/FileIO.h"
#include "Files/JsonText.h"
#include "HybridForms.h"
#include "TransformersFields.h"

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static constexpr StringRef library = "transformers";

/// Fields of generation and caches, of experts and of the layers that predict
/// further tokens, none of which a dense model's logits need.
static constexpr StringRef unread[] = {"num_logits_to_keep",
                                       "max_position_embeddings",
                                       "use_mamba_kernels",
                                       "mamba_ssm_cache_dtype",
                                       "auto_map",
                                       "n_routed_experts",
                                       "num_local_experts",
                                       "n_shared_experts",
                                       "num_experts_per_tok",
                                       "moe_intermediate_size",
                                       "moe_shared_expert_intermediate_size",
                                       "moe_latent_size",
                                       "moe_shared_expert_overlap",
                                       "routed_scaling_factor",
                                       "output_router_logits",
                                       "n_group",
                                       "topk_group",
                                       "norm_topk_prob",
                                       "num_nextn_predict_layers",
                                       "mtp_layers_block_type",
                                       "mtp_hybrid_override_pattern"};

/// NemotronHConfig.__post_init__ takes the first for the second: the names of
/// its own signature in 5.3. The last one is an attribute_map.
static constexpr std::pair<StringRef, StringRef> otherNames[] = {
    {"mamba_n_groups", "n_groups"},
    {"mamba_d_conv", "conv_kernel"},
    {"mamba_expand", "expand"},
    {"mamba_dt_min", "time_step_min"},
    {"mamba_dt_max", "time_step_max"},
    {"mamba_dt_limit", "time_step_limit"},
    {"mamba_dt_init_floor", "time_step_floor"},
    {"mamba_conv_bias", "use_conv_bias"},
    {"mamba_chunk_size", "chunk_size"},
    {"layer_types", "layers_block_type"}};

/// NemotronHMamba2Mixer.__init__.
static void readMamba(FieldReader &fields, LanguageModel &model,
                      MixerConfig &c) {
  auto size = [&](StringRef key, int64_t absent) {
    return fields.size(key, absent, library, model.remarks);
  };
  c.numHeads = size("mamba_num_heads", 128);
  c.headDim = size("mamba_head_dim", 64);
  c.stateSize = size("ssm_state_size", 128);
  c.numGroups = size("n_groups", 8);
  c.convKernel = size("conv_kernel", 4);
  c.chunkSize = fields.size("chunk_size", 128);
  c.useBias = fields.flag("use_bias", false);
  c.useConvBias = fields.flag("use_conv_bias", true);
  // NemotronHRMSNormGated: group_size = intermediate_size // n_groups.
  c.normGroups = c.numGroups;
  readStepInitialisation(fields, c);
  // time_step_limit = (config.time_step_min, inf).
  c.dtMin = c.dtInitMin;
  fields.remarkIgnored(model, "time_step_limit",
                       "its steps are at least time_step_min, without a limit "
                       "above");
  fields.remarkIgnored(model, "expand",
                       "mamba_num_heads * mamba_head_dim says the inner size");
  fields.remarkIgnored(model, "mamba_proj_bias", "use_bias says it");
  fields.remarkIgnored(model, "time_step_rank",
                       "Mamba-2 projects its steps at full rank");
  readSilu(fields, "mamba_hidden_act");
}

/// NemotronHAttention.__init__, whose projections have no biases, and
/// NemotronHMLP.__init__.
static void readAttention(FieldReader &fields, HybridConfig &config) {
  AttentionConfig &c = config.attention;
  c.heads = fields.size("num_attention_heads", 32, library, config.remarks);
  c.keyHeads = readKeyHeads(fields, c.heads, config.remarks);
  c.headDim = fields.size("head_dim", 128, library, config.remarks);
  fields.remarkIgnored(config, "attention_head_dim", "head_dim says it");
  fields.remarkIgnored(config, "attention_bias", "its attention has no biases");
  for (StringRef key : {"rope_theta", "partial_rotary_factor", "rope_scaling",
                        "rope_parameters"})
    fields.remarkIgnored(config, key, "its attention rotates nothing");
  fields.remarkIgnored(config, "num_query_groups",
                       "num_key_value_heads says the groups of its queries");
  fields.refuseUnlessEmpty("sliding_window", "attention in a window");
  config.mlp.size =
      fields.size("intermediate_size", 21504, library, config.remarks);
  config.mlp.useBias = fields.flag("mlp_bias", false);
  std::string activation = fields.text("mlp_hidden_act", "relu2");
  if (activation != "relu2")
    fields.fail("mlp_hidden_act", "expected relu2, got " + quoted(activation));
}

static std::optional<BlockKind> kindOf(StringRef name) {
  if (name == "M" || name == "linear_attention" || name == "mamba")
    return BlockKind::Mamba;
  if (name == "*" || name == "full_attention" || name == "attention")
    return BlockKind::Attention;
  if (name == "-" || name == "mlp")
    return BlockKind::Mlp;
  return std::nullopt;
}

/// One layer after the other by name; fails at one that is not served.
static bool addLayer(FieldReader &fields, StringRef key, StringRef name,
                     HybridConfig &config) {
  std::optional<BlockKind> kind = kindOf(name);
  if (kind) {
    config.layers.push_back(*kind);
    return true;
  }
  bool isMoe = name == "E" || name == "moe";
  std::string what = isMoe
                         ? "a mixture of experts (MoE), which is not supported"
                         : "no kind of layer";
  fields.fail(key, "layer " + Twine(config.layers.size()) + " is " +
                       quoted(name) + ", " + what +
                       "; expected linear_attention (M), full_attention (*) "
                       "or mlp (-)");
  return false;
}

static void readLayers(FieldReader &fields, HybridConfig &config) {
  std::string pattern = fields.hasValue("hybrid_override_pattern")
                            ? fields.text("hybrid_override_pattern", "")
                            : "";
  if (const json::Array *list = fields.list("layers_block_type")) {
    for (const json::Value &value : *list)
      if (!addLayer(fields, "layers_block_type",
                    value.getAsString().value_or(describe(value)), config))
        return;
    if (fields.hasValue("hybrid_override_pattern"))
      fields.remarkIgnored(config, "hybrid_override_pattern",
                           "layers_block_type says the layers");
  } else {
    for (char letter : pattern)
      if (!addLayer(fields, "hybrid_override_pattern", StringRef(&letter, 1),
                    config))
        return;
  }
  // Without either transformers would take one of each kind, a MoE among them.
  int64_t count = int64_t(config.layers.size());
  if (count == 0)
    fields.fail("layers_block_type", "expected a list of layers, or "
                                     "hybrid_override_pattern, got none");
  if (fields.size("num_hidden_layers", count) != count)
    fields.remarkIgnored(config, "num_hidden_layers",
                         "there are " + std::to_string(count) + " layers");
  config.numLayers = count;
  expectLayers(fields, "layers_block_type", count);
}

static Error readNemotronH(const json::Object &object, StringRef label,
                           HybridConfig &config) {
  FieldReader fields(object, label.str());
  for (auto [other, key] : otherNames)
    fields.readAs(other, key, config.remarks);
  config.mlp.form = MlpForm::SquaredRelu;
  config.residualInF32 = false;
  config.hiddenSize = fields.size("hidden_size", 4096, library, config.remarks);
  config.vocabSize = config.paddedVocabSize =
      fields.size("vocab_size", 131072, library, config.remarks);
  config.normEpsilon = config.mamba.gatedNormEpsilon =
      fields.real("layer_norm_epsilon", 1e-5, 0, /*open=*/true);
  config.initializerRange =
      fields.real("initializer_range", 0.02, 0, /*open=*/false);
  config.rescaleResidual = fields.flag("rescale_prenorm_residual", true);
  readMamba(fields, config, config.mamba);
  readAttention(fields, config);
  readLayers(fields, config);
  // NemotronHBlock adds in the type of its states; _tied_weights_keys is empty.
  if (fields.flag("residual_in_fp32", false))
    fields.remarkIgnored(config, "residual_in_fp32",
                         "its residual has the weights' type");
  if (fields.flag("tie_word_embeddings", false))
    fields.remarkIgnored(config, "tie_word_embeddings",
                         "its logits have a weight of their own");
  for (StringRef key : {"rms_norm_eps", "norm_eps"})
    fields.remarkIgnored(config, key, "layer_norm_epsilon says it");
  readCommonFields(fields, object, "NemotronH", /*tiesEmbeddings=*/false);
  fields.readTrainingOnly(config, {"attention_dropout", "hidden_dropout"},
                          "nothing is dropped here");
  fields.ignore(unread);
  if (Error error = fields.finish())
    return error;
  std::string groups = fields.name("n_groups");
  std::string layers = fields.name("layers_block_type");
  return checkHybridSizes(config,
                          {"hidden_size", "expand", "mamba_num_heads",
                           "mamba_head_dim", "ssm_state_size", groups.c_str(),
                           layers.c_str(), "vocab_size"},
                          label);
}

const HybridFamily cp::nemotronHFamily = {
    "nemotron_h",
    "backbone.embeddings.weight",
    "backbone.norm_f.weight",
    /*drawsSteps=*/true,
    [](size_t layer, BlockKind kind) {
      std::string start = "backbone.layers." + std::to_string(layer) + ".";
      return std::vector<HybridBlock>{
          {kind, start + "norm.weight", start + "mixer"}};
    },
    readNemotronH};
