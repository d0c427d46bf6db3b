//===- TransformersFields.cpp - What all of its forms have ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransformersFields.h"

#include "Files/FileIO.h"
#include "Files/JsonText.h"

using namespace cp;
using llvm::StringRef;
namespace json = llvm::json;

/// Fields of PreTrainedConfig and of generation that change no logit of a full
/// sequence.
static constexpr StringRef harmless[] = {"model_type",
                                         "torch_dtype",
                                         "dtype",
                                         "transformers_version",
                                         "_name_or_path",
                                         "name_or_path",
                                         "_commit_hash",
                                         "bos_token_id",
                                         "eos_token_id",
                                         "pad_token_id",
                                         "sep_token_id",
                                         "decoder_start_token_id",
                                         "use_cache",
                                         "return_dict",
                                         "output_hidden_states",
                                         "output_attentions",
                                         "id2label",
                                         "label2id",
                                         "num_labels",
                                         "problem_type",
                                         "tokenizer_class",
                                         "finetuning_task",
                                         "task_specific_params",
                                         "torchscript",
                                         "chunk_size_feed_forward",
                                         "_attn_implementation_autoset",
                                         "attn_implementation",
                                         "do_sample",
                                         "max_length",
                                         "min_length",
                                         "temperature",
                                         "top_k",
                                         "top_p",
                                         "use_bfloat16",
                                         "tf_legacy_loss",
                                         "prefix",
                                         "early_stopping",
                                         "num_beams",
                                         "num_beam_groups",
                                         "diversity_penalty",
                                         "typical_p",
                                         "repetition_penalty",
                                         "length_penalty",
                                         "no_repeat_ngram_size",
                                         "encoder_no_repeat_ngram_size",
                                         "bad_words_ids",
                                         "num_return_sequences",
                                         "output_scores",
                                         "return_dict_in_generate",
                                         "forced_bos_token_id",
                                         "forced_eos_token_id",
                                         "remove_invalid_values",
                                         "exponential_decay_length_penalty",
                                         "suppress_tokens",
                                         "begin_suppress_tokens"};

/// NameForCausalLM, or NameModel, which ends before the head: its files call
/// the parameters by shorter names and hold no head.
static void readArchitectures(FieldReader &fields, const json::Object &object,
                              const std::string &name, bool tiesEmbeddings) {
  if (!fields.hasValue("architectures"))
    return;
  const json::Array *list = object.getArray("architectures");
  if (!list)
    return fields.fail("architectures", "expected a list of class names, got " +
                                            fields.valueText("architectures"));
  bool hasHead = list->empty();
  for (const json::Value &value : *list) {
    StringRef found = value.getAsString().value_or("");
    hasHead |= found == name + "ForCausalLM";
    if (found != name + "ForCausalLM" && found != name + "Model")
      fields.fail("architectures",
                  "expected " + name + "ForCausalLM, got " + describe(value));
  }
  if (!hasHead && !tiesEmbeddings)
    fields.fail("architectures",
                name +
                    "Model has no head, so its files hold no lm_head.weight "
                    "to make logits with; expected " +
                    name +
                    "ForCausalLM, or tie_word_embeddings = true, which makes "
                    "them with the embedding");
}

void cp::readCommonFields(FieldReader &fields, const json::Object &object,
                          StringRef name, bool tiesEmbeddings) {
  readArchitectures(fields, object, name.str(), tiesEmbeddings);
  for (StringRef key :
       {"is_decoder", "is_encoder_decoder", "tie_encoder_decoder",
        "add_cross_attention", "cross_attention_hidden_size"})
    fields.refuseUnlessEmpty(key, "an encoder or cross attention");
  fields.refuseUnlessEmpty("pruned_heads", "attention without some heads");
  fields.refuseUnlessEmpty("quantization_config", "quantized weights");
  fields.ignore(harmless);
}

void cp::readSilu(FieldReader &fields, StringRef key) {
  std::string activation = fields.text(key, "silu");
  if (activation != "silu" && activation != "swish")
    fields.fail(key, "expected silu or swish (one function), got " +
                         quoted(activation));
}

void cp::readStepInitialisation(FieldReader &fields, MixerConfig &c) {
  // init_mamba2_weights, and Mamba2.__init__ of mamba_ssm: dt_bias only.
  c.dtInitMin = fields.real("time_step_min", 0.001, 0, /*open=*/true);
  c.dtInitMax = fields.real("time_step_max", 0.1, 0, /*open=*/true);
  c.dtInitFloor = fields.real("time_step_floor", 1e-4, 0, /*open=*/false);
  if (c.dtInitMax < c.dtInitMin)
    fields.fail("time_step_max", "expected at least time_step_min");
}
