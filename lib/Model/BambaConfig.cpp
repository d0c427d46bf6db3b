//===- BambaConfig.cpp - transformers' form of Bamba ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields and defaults: BambaConfig of configuration_bamba.py in transformers
// 5.23.0; what each does: modeling_bamba.py there.
//
//===----------------------------------------------------------------------===//

#include "Files/FileIO.h"
#include "HybridForms.h"
#include "TransformersFields.h"

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static constexpr StringRef library = "transformers";

/// Fields of training, generation and caches, and one that the rotary settings
/// have replaced.
static constexpr StringRef unread[] = {
    "num_logits_to_keep", "max_position_embeddings", "attn_rotary_emb",
    "use_mamba_kernels",  "output_router_logits",    "router_aux_loss_coef"};

/// The part of a head that is rotated: PreTrainedConfig puts a rope_theta of
/// its own into rope_parameters, BambaConfig a partial_rotary_factor of 0.5.
static void readRotary(FieldReader &fields, const std::string &label,
                       HybridConfig &config) {
  constexpr double usualTheta = 10000, usualPart = 0.5;
  AttentionConfig &c = config.attention;
  fields.refuseUnlessEmpty("rope_scaling", "scaled rotary frequencies");
  fields.remarkIgnored(config, "partial_rotary_factor",
                       "it counts in rope_parameters only");
  c.ropeTheta = fields.real("rope_theta", usualTheta, 0, /*open=*/true);
  double part = usualPart;
  if (fields.hasValue("rope_parameters"))
    if (const json::Object *object = fields.nested("rope_parameters")) {
      FieldReader rope(*object, label, "rope_parameters.");
      c.ropeTheta = rope.real("rope_theta", *c.ropeTheta, 0, /*open=*/true);
      part = rope.real("partial_rotary_factor", usualPart, 0, /*open=*/true);
      std::string type = rope.text("rope_type", "default");
      if (type != "default")
        rope.fail("rope_type", "expected default, got " + quoted(type));
      fields.adopt(rope);
    }
  setRotaryPart(fields, part, c);
}

/// BambaAttention.__init__ and BambaMLP.__init__.
static void readAttention(FieldReader &fields, const std::string &label,
                          HybridConfig &config) {
  std::vector<std::string> &remarks = config.remarks;
  AttentionConfig &c = config.attention;
  c.heads = fields.size("num_attention_heads", 32, library, remarks);
  c.keyHeads = readKeyHeads(fields, c.heads, remarks);
  c.headDim = fields.size("head_dim", config.hiddenSize / c.heads);
  c.useBias = fields.flag("attention_bias", false);
  readRotary(fields, label, config);
  config.mlp.size = fields.size("intermediate_size", 14336, library, remarks);
  config.mlp.useBias = fields.flag("mlp_bias", false);
}

static void readLayers(FieldReader &fields, HybridConfig &config) {
  int64_t count = config.numLayers;
  if (!expectLayers(fields, "num_hidden_layers", count))
    return;
  config.layers.assign(size_t(count), BlockKind::Mamba);
  const json::Array *list = fields.list("attn_layer_indices");
  if (!list)
    return;
  for (const json::Value &value : *list) {
    int64_t index = value.getAsInteger().value_or(-1);
    if (index < 0 || index >= count)
      return fields.fail("attn_layer_indices",
                         "expected numbers of layers from 0 to " +
                             Twine(count - 1) + ", got " +
                             fields.valueText("attn_layer_indices"));
    config.layers[size_t(index)] = BlockKind::Attention;
  }
}

static Error readBamba(const json::Object &object, StringRef label,
                       HybridConfig &config) {
  FieldReader fields(object, label.str());
  config.residualInF32 = false;
  config.hiddenSize = fields.size("hidden_size", 4096, library, config.remarks);
  config.vocabSize = config.paddedVocabSize =
      fields.size("vocab_size", 128000, library, config.remarks);
  config.numLayers =
      fields.size("num_hidden_layers", 32, library, config.remarks);
  config.normEpsilon = config.mamba.gatedNormEpsilon =
      fields.real("rms_norm_eps", 1e-5, 0, /*open=*/true);
  config.tieEmbeddings = fields.flag("tie_word_embeddings", false);
  config.paddingToken = fields.index("pad_token_id", 0, config.vocabSize);
  config.initializerRange =
      fields.real("initializer_range", 0.02, 0, /*open=*/false);
  int64_t expand = readBambaMixer(fields, config, config.mamba);
  readAttention(fields, label.str(), config);
  readLayers(fields, config);
  readSilu(fields, "hidden_act");
  readCommonFields(fields, object, "Bamba", config.tieEmbeddings);
  fields.readTrainingOnly(config, {"attention_dropout"},
                          "nothing is dropped here");
  fields.readTrainingOnly(config, {"z_loss_coefficient"},
                          "no loss here has that term");
  fields.ignore(unread);
  if (Error error = fields.finish())
    return error;
  if (Error error = checkSizes(config, config.mamba, expand, bambaNames, label))
    return error;
  return checkHybridSizes(config, bambaNames, label);
}

const HybridFamily cp::bambaFamily = {
    "bamba",
    "model.embed_tokens.weight",
    "model.final_layernorm.weight",
    /*drawsSteps=*/false,
    [](size_t layer, BlockKind kind) {
      return mixerAndMlp(layer, kind, "pre_ff_layernorm.weight",
                         "feed_forward");
    },
    readBamba};
