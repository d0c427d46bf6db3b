//===- GraniteConfig.cpp - GraniteMoeHybrid without experts ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields and defaults: GraniteMoeHybridConfig of
// configuration_granitemoehybrid.py in transformers 5.23.0; what each does:
// modeling_granitemoehybrid.py there.
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

/// Fields of training, generation, caches and of experts that are not there.
static constexpr StringRef unread[] = {
    "max_position_embeddings", "intermediate_size",    "num_experts_per_tok",
    "output_router_logits",    "router_aux_loss_coef", "init_method",
    "use_mamba_kernels"};

static void refuseExperts(FieldReader &fields) {
  constexpr StringRef key = "num_local_experts";
  std::string count =
      fields.hasValue(key) ? fields.valueText(key) : "8, the default";
  if (count != "0")
    fields.fail(key, "expected 0, got " + count +
                         ": a mixture of experts (MoE) is not supported");
}

/// The settings of a rotation, which counts where position_embedding_type is
/// "rope": PreTrainedConfig puts a rope_theta of its own into rope_parameters.
static void readRotary(FieldReader &fields, const std::string &label,
                       HybridConfig &config) {
  constexpr double usualTheta = 10000;
  AttentionConfig &c = config.attention;
  fields.refuseUnlessEmpty("rope_scaling", "scaled rotary frequencies");
  c.ropeTheta = fields.real("rope_theta", usualTheta, 0, /*open=*/true);
  if (fields.hasValue("rope_parameters"))
    if (const json::Object *object = fields.nested("rope_parameters")) {
      FieldReader rope(*object, label, "rope_parameters.");
      c.ropeTheta = rope.real("rope_theta", *c.ropeTheta, 0, /*open=*/true);
      std::string type = rope.text("rope_type", "default");
      if (type != "default")
        rope.fail("rope_type", "expected default, got " + quoted(type));
      // compute_default_rope_parameters turns the whole head.
      rope.remarkIgnored(config, "partial_rotary_factor",
                         "all channels of a head are rotated");
      fields.adopt(rope);
    }
  setRotaryPart(fields, 1, c);
}

static void readPositions(FieldReader &fields, const std::string &label,
                          HybridConfig &config) {
  constexpr StringRef key = "position_embedding_type";
  std::string type = fields.hasValue(key) ? fields.text(key, "") : "nope";
  fields.remarkIgnored(config, "partial_rotary_factor",
                       "rope_parameters say the rotation");
  if (type == "rope")
    return readRotary(fields, label, config);
  if (type != "nope")
    fields.fail(key, "expected rope, nope or null, got " + quoted(type));
  for (StringRef rope : {"rope_theta", "rope_scaling", "rope_parameters"})
    if (fields.hasValue(rope))
      fields.remarkIgnored(config, rope,
                           "without position_embedding_type \"rope\" nothing "
                           "is rotated");
}

/// GraniteMoeHybridAttention and GraniteMoeHybridMLP.__init__.
static void readAttention(FieldReader &fields, const std::string &label,
                          HybridConfig &config) {
  std::vector<std::string> &remarks = config.remarks;
  AttentionConfig &c = config.attention;
  c.heads = fields.size("num_attention_heads", 32, library, remarks);
  c.keyHeads = fields.hasValue("num_key_value_heads")
                   ? fields.size("num_key_value_heads", c.heads)
                   : c.heads;
  int64_t headDim = config.hiddenSize / c.heads;
  c.headDim =
      fields.hasValue("head_dim") ? fields.size("head_dim", headDim) : headDim;
  if (c.headDim == 0)
    fields.fail("num_attention_heads",
                "expected at most hidden_size = " + Twine(config.hiddenSize) +
                    ", got " + Twine(c.heads));
  c.useBias = fields.flag("attention_bias", false);
  c.scale = fields.real("attention_multiplier", 1, 0, /*open=*/true);
  readPositions(fields, label, config);
  config.mlp.form = MlpForm::PackedSwiGlu;
  config.mlp.size =
      fields.size("shared_intermediate_size", 1024, library, remarks);
}

static void readMultipliers(FieldReader &fields, Multipliers &c) {
  c.embedding = fields.real("embedding_multiplier", 1, 0, /*open=*/true);
  c.residual = fields.real("residual_multiplier", 1, 0, /*open=*/true);
  c.logitsDivisor = fields.real("logits_scaling", 1, 0, /*open=*/true);
}

static std::optional<BlockKind> kindOf(StringRef name) {
  if (name == "linear_attention" || name == "mamba")
    return BlockKind::Mamba;
  if (name == "full_attention" || name == "attention")
    return BlockKind::Attention;
  return std::nullopt;
}

static void readLayers(FieldReader &fields, HybridConfig &config) {
  constexpr StringRef key = "layer_types";
  int64_t count = config.numLayers;
  if (!expectLayers(fields, "num_hidden_layers", count))
    return;
  config.layers.assign(size_t(count), BlockKind::Mamba);
  const json::Array *list = fields.list(key);
  if (!list)
    return;
  if (int64_t(list->size()) != count)
    return fields.fail(key, "expected num_hidden_layers = " + Twine(count) +
                                " kinds, got " + Twine(list->size()));
  for (auto [layer, value] : llvm::enumerate(*list)) {
    std::optional<BlockKind> kind = kindOf(value.getAsString().value_or(""));
    if (!kind)
      return fields.fail(key, "layer " + Twine(layer) + " is " +
                                  describe(value) +
                                  "; expected linear_attention (mamba) or "
                                  "full_attention (attention)");
    config.layers[layer] = *kind;
  }
}

static Error readGranite(const json::Object &object, StringRef label,
                         HybridConfig &config) {
  FieldReader fields(object, label.str());
  fields.readAs("layers_block_type", "layer_types", config.remarks);
  config.residualInF32 = false;
  refuseExperts(fields);
  config.hiddenSize = fields.size("hidden_size", 4096, library, config.remarks);
  config.vocabSize = config.paddedVocabSize =
      fields.size("vocab_size", 32000, library, config.remarks);
  config.numLayers =
      fields.size("num_hidden_layers", 32, library, config.remarks);
  config.normEpsilon = config.mamba.gatedNormEpsilon =
      fields.real("rms_norm_eps", 1e-6, 0, /*open=*/true);
  config.tieEmbeddings = fields.flag("tie_word_embeddings", false);
  config.paddingToken =
      fields.index("pad_token_id", std::nullopt, config.vocabSize);
  config.initializerRange =
      fields.real("initializer_range", 0.02, 0, /*open=*/false);
  int64_t expand = readBambaMixer(fields, config, config.mamba);
  readAttention(fields, label.str(), config);
  readMultipliers(fields, config.multipliers);
  readLayers(fields, config);
  readSilu(fields, "hidden_act");
  // Granite's own files have it; its norms are always RMS norms.
  std::string norm = fields.text("normalization_function", "rmsnorm");
  if (norm != "rmsnorm")
    fields.fail("normalization_function",
                "expected rmsnorm, got " + quoted(norm));
  readCommonFields(fields, object, "GraniteMoeHybrid", config.tieEmbeddings);
  fields.readTrainingOnly(config, {"attention_dropout"},
                          "nothing is dropped here");
  fields.ignore(unread);
  if (Error error = fields.finish())
    return error;
  if (Error error = checkSizes(config, config.mamba, expand, bambaNames, label))
    return error;
  return checkHybridSizes(config, bambaNames, label);
}

const HybridFamily cp::graniteFamily = {
    "granitemoehybrid",
    "model.embed_tokens.weight",
    "model.norm.weight",
    /*drawsSteps=*/false,
    [](size_t layer, BlockKind kind) {
      return mixerAndMlp(layer, kind, "post_attention_layernorm.weight",
                         "shared_mlp");
    },
    readGranite};
