//===- HFConfig.cpp - Reading a published config.json ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Model/HFConfig.h"

#include "ConfigForms.h"
#include "FileIO.h"
#include "JsonText.h"

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

/// Whether the object has state-spaces' form; an error when it has neither.
static Expected<bool> isMambaSsmForm(const json::Object &object,
                                     StringRef label) {
  if (const json::Value *type = object.get("model_type")) {
    if (type->getAsString() == StringRef("mamba2"))
      return false;
    return makeError(Twine(label) + ": model_type: expected \"mamba2\", got " +
                     describe(*type));
  }
  if (object.get("d_model") || object.get("ssm_cfg"))
    return true;
  return makeError(Twine(label) +
                   ": model_type: expected \"mamba2\", or d_model and ssm_cfg "
                   "of state-spaces' form, got none of them");
}

Expected<Mamba2Config>
cp::parseMamba2Config(StringRef text, StringRef label,
                      std::optional<Semantics> semantics) {
  std::string start = quoted(label);
  Expected<json::Value> value = parseJson(text, start, NonFinite::Accept);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return makeError(start + ": expected an object, got " + describe(*value));
  Expected<bool> mambaSsm = isMambaSsmForm(*object, start);
  if (!mambaSsm)
    return mambaSsm.takeError();
  Mamba2Config config;
  Semantics own = *mambaSsm ? Semantics::MambaSSM : Semantics::Transformers;
  config.semantics = semantics.value_or(own);
  if (Error error = *mambaSsm ? readMambaSsmForm(*object, start, config)
                              : readTransformersForm(*object, start, config))
    return error;
  return config;
}

Expected<Mamba2Config>
cp::readMamba2Config(StringRef path, std::optional<Semantics> semantics) {
  constexpr uint64_t maxBytes = 16 << 20;
  auto buffer = openRegularFile(path, maxBytes);
  if (!buffer)
    return buffer.takeError();
  return parseMamba2Config((*buffer)->getBuffer(), path, semantics);
}
