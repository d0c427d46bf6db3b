//===- HFConfig.cpp - Reading a published config.json ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Model/HFConfig.h"

#include "ConfigForms.h"
#include "Files/FileIO.h"
#include "Files/JsonText.h"
#include "HybridForms.h"

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

StringRef cp::semanticsName(Semantics semantics) {
  switch (semantics) {
  case Semantics::Transformers:
    return "transformers";
  case Semantics::TransformersUngrouped:
    return "transformers-ungrouped";
  case Semantics::MambaSSM:
    return "mamba_ssm";
  }
  return "";
}

std::optional<Semantics> cp::parseSemantics(StringRef name) {
  for (Semantics semantics :
       {Semantics::Transformers, Semantics::TransformersUngrouped,
        Semantics::MambaSSM})
    if (name == semanticsName(semantics))
      return semantics;
  return std::nullopt;
}

static Expected<json::Value> parseObject(StringRef text, StringRef start) {
  Expected<json::Value> value = parseJson(text, start, NonFinite::Accept);
  if (value && !value->getAsObject())
    return makeError(start + ": expected an object, got " + describe(*value));
  return value;
}

/// "a", "b" or "c".
static std::string familyNames() {
  std::string names;
  llvm::ArrayRef<const HybridFamily *> all = hybridFamilies();
  for (const HybridFamily *family : all) {
    if (!names.empty())
      names += family == all.back() ? " or " : ", ";
    names += "\"" + family->type.str() + "\"";
  }
  return names;
}

/// Whether the object has state-spaces' form; an error when it has neither.
static Expected<bool> isMambaSsmForm(const json::Object &object,
                                     StringRef label) {
  if (const json::Value *type = object.get("model_type")) {
    if (type->getAsString() == StringRef("mamba2"))
      return false;
    return makeError(Twine(label) +
                     ": model_type: expected \"mamba2\" (or a hybrid's, " +
                     familyNames() + "), got " + describe(*type));
  }
  if (object.get("d_model") || object.get("ssm_cfg"))
    return true;
  return makeError(Twine(label) +
                   ": model_type: expected \"mamba2\", or d_model and ssm_cfg "
                   "of state-spaces' form, got none of them");
}

static Expected<Mamba2Config> readMamba2(const json::Object &object,
                                         StringRef start,
                                         std::optional<Semantics> semantics) {
  Expected<bool> mambaSsm = isMambaSsmForm(object, start);
  if (!mambaSsm)
    return mambaSsm.takeError();
  Mamba2Config config;
  Semantics own = *mambaSsm ? Semantics::MambaSSM : Semantics::Transformers;
  config.semantics = semantics.value_or(own);
  if (Error error = *mambaSsm ? readMambaSsmForm(object, start, config)
                              : readTransformersForm(object, start, config))
    return error;
  return config;
}

static Expected<ModelConfig> readHybrid(const json::Object &object,
                                        StringRef start,
                                        const HybridFamily &family,
                                        std::optional<Semantics> semantics) {
  if (semantics.value_or(Semantics::Transformers) != Semantics::Transformers)
    return makeError(Twine(start) + ": model_type: " + quoted(family.type) +
                     " follows transformers only, but the semantics asked for "
                     "is " +
                     semanticsName(*semantics));
  HybridConfig config;
  config.family = &family;
  if (Error error = family.read(object, start, config))
    return error;
  return config;
}

Expected<Mamba2Config>
cp::parseMamba2Config(StringRef text, StringRef label,
                      std::optional<Semantics> semantics) {
  std::string start = quoted(label);
  Expected<json::Value> value = parseObject(text, start);
  if (!value)
    return value.takeError();
  return readMamba2(*value->getAsObject(), start, semantics);
}

const std::vector<std::string> &cp::remarksOf(const ModelConfig &config) {
  if (const auto *hybrid = std::get_if<HybridConfig>(&config))
    return hybrid->remarks;
  return std::get<Mamba2Config>(config).remarks;
}

Expected<ModelConfig> cp::parseModelConfig(StringRef text, StringRef label,
                                           std::optional<Semantics> semantics) {
  std::string start = quoted(label);
  Expected<json::Value> value = parseObject(text, start);
  if (!value)
    return value.takeError();
  const json::Object &object = *value->getAsObject();
  std::optional<StringRef> type = object.getString("model_type");
  for (const HybridFamily *family : hybridFamilies())
    if (type == family->type)
      return readHybrid(object, start, *family, semantics);
  return readMamba2(object, start, semantics);
}

Expected<Mamba2Config>
cp::readMamba2Config(StringRef path, std::optional<Semantics> semantics) {
  constexpr uint64_t maxBytes = 16 << 20;
  auto buffer = openRegularFile(path, maxBytes);
  if (!buffer)
    return buffer.takeError();
  return parseMamba2Config((*buffer)->getBuffer(), path, semantics);
}
