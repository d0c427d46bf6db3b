//===- FieldReader.cpp - Typed fields of a JSON object --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldReader.h"

#include "Files/FileIO.h"
#include "Files/JsonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace cp;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// A number, also as transformers 5 encodes one that JSON lacks
/// (PreTrainedConfig._encode_special_floats).
static std::optional<double> numberOf(const json::Value &value) {
  if (std::optional<double> number = value.getAsNumber())
    return number;
  const json::Object *object = value.getAsObject();
  if (!object || object->size() != 1)
    return std::nullopt;
  std::optional<StringRef> tag = object->getString("__float__");
  if (tag == StringRef("Infinity"))
    return std::numeric_limits<double>::infinity();
  if (tag == StringRef("-Infinity"))
    return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

void FieldReader::readAs(StringRef other, StringRef key,
                         std::vector<std::string> &remarks) {
  if (!object.get(other))
    return;
  if (object.get(key)) {
    known.insert(key);
    remarks.push_back((name(key) + "=" + valueText(key) +
                       " is ignored: " + other + " says it")
                          .str());
  }
  otherNames[key] = other;
}

const json::Value *FieldReader::get(StringRef key) {
  known.insert(own(key));
  return object.get(own(key));
}

bool FieldReader::has(StringRef key) { return get(key) != nullptr; }

bool FieldReader::hasValue(StringRef key) {
  const json::Value *value = get(key);
  return value && value->kind() != json::Value::Null;
}

void FieldReader::fail(StringRef key, const Twine &message) {
  if (firstError.empty())
    firstError = (label + ": " + name(key) + ": " + message).str();
}

void FieldReader::expected(StringRef key, const Twine &what,
                           const json::Value &value) {
  fail(key, "expected " + what + ", got " + describe(value));
}

int64_t FieldReader::size(StringRef key, int64_t absent) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  constexpr double most = 2147483647;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 1 && *number <= most &&
      *number == std::floor(*number))
    return int64_t(*number);
  expected(key, "a whole number from 1 to 2147483647", *value);
  return absent;
}

int64_t FieldReader::size(StringRef key, int64_t absent, StringRef library,
                          std::vector<std::string> &remarks) {
  if (!has(key))
    remarks.push_back((name(key) + " is absent: " + Twine(absent) +
                       " is taken, the default of " + library)
                          .str());
  return size(key, absent);
}

std::optional<int64_t>
FieldReader::index(StringRef key, std::optional<int64_t> absent, int64_t end) {
  if (has(key) && !hasValue(key))
    return std::nullopt;
  const json::Value *value = get(key);
  if (!value)
    return absent;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= 0 && *number < end)
    return number;
  expected(key, "null, or a whole number from 0 to " + Twine(end - 1), *value);
  return absent;
}

double FieldReader::real(StringRef key, double absent, double low, bool open) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  std::optional<double> number = numberOf(*value);
  if (number && std::isfinite(*number) &&
      (open ? *number > low : *number >= low))
    return *number;
  expected(key,
           Twine("a finite number ") + (open ? "above " : "from ") +
               llvm::formatv("{0}", json::Value(low)).str(),
           *value);
  return absent;
}

bool FieldReader::flag(StringRef key, bool absent) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  expected(key, "true or false", *value);
  return absent;
}

std::string FieldReader::text(StringRef key, StringRef absent) {
  const json::Value *value = get(key);
  if (!value)
    return absent.str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  expected(key, "a string", *value);
  return absent.str();
}

std::pair<double, double>
FieldReader::interval(StringRef key, std::pair<double, double> absent) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  const json::Array *list = value->getAsArray();
  if (list && list->size() == 2) {
    std::optional<double> low = numberOf((*list)[0]);
    std::optional<double> high = numberOf((*list)[1]);
    if (low && high && std::isfinite(*low) && *low >= 0 && *low <= *high)
      return {*low, *high};
  }
  fail(key, "expected a list [low, high] of numbers with 0 <= low <= high, "
            "where high may be Infinity, got " +
                valueText(key));
  return absent;
}

const json::Object *FieldReader::nested(StringRef key) {
  const json::Value *value = get(key);
  if (!value)
    return nullptr;
  if (const json::Object *found = value->getAsObject())
    return found;
  expected(key, "an object", *value);
  return nullptr;
}

const json::Array *FieldReader::list(StringRef key) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return nullptr;
  if (const json::Array *found = value->getAsArray())
    return found;
  expected(key, "a list", *value);
  return nullptr;
}

static bool isEmpty(const json::Value &value) {
  if (const json::Array *list = value.getAsArray())
    return list->empty();
  if (const json::Object *object = value.getAsObject())
    return object->empty();
  return value.kind() == json::Value::Null || value.getAsBoolean() == false ||
         value.getAsNumber() == 0.0;
}

void FieldReader::refuseUnlessEmpty(StringRef key, StringRef why) {
  const json::Value *value = get(key);
  if (value && !isEmpty(*value))
    fail(key, valueText(key) + " asks for " + why + ", which is not supported");
}

void FieldReader::remarkIgnored(LanguageModel &model, StringRef key,
                                StringRef why) {
  if (has(key))
    model.remarks.push_back((Twine(name(key)) + "=" + valueText(key) +
                             " is ignored by " +
                             semanticsName(model.semantics) + ": " + why)
                                .str());
}

void FieldReader::readTrainingOnly(LanguageModel &model,
                                   llvm::ArrayRef<StringRef> keys,
                                   StringRef what) {
  for (StringRef key : keys) {
    double value = real(key, 0, 0, /*open=*/false);
    if (value == 0)
      continue;
    std::string text = name(key) + " = ";
    llvm::raw_string_ostream(text) << llvm::format("%g", value);
    model.remarks.push_back((text + " is of training: " + what).str());
    model.trainingOnly.push_back(std::move(text));
  }
}

void FieldReader::ignore(llvm::ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    known.insert(own(key));
}

std::string FieldReader::valueText(StringRef key) const {
  const json::Value *value = object.get(own(key));
  std::string text = value ? llvm::formatv("{0}", *value).str() : "nothing";
  constexpr size_t limit = 96;
  return text.size() > limit ? text.substr(0, limit) + "..." : text;
}

void FieldReader::adopt(FieldReader &nested) {
  std::string error = llvm::toString(nested.finish());
  if (firstError.empty())
    firstError = error;
}

Error FieldReader::finish() {
  if (!firstError.empty())
    return makeError(firstError);
  std::vector<std::string> unknown;
  for (const auto &[key, value] : object)
    if (!known.contains(StringRef(key)))
      unknown.push_back(quoted(prefix + StringRef(key).str()));
  if (unknown.empty())
    return Error::success();
  llvm::sort(unknown);
  return makeError(label + ": expected only known fields, got " +
                   llvm::join(unknown, ", ") +
                   "; remove what does not change the model, the rest is not "
                   "supported");
}
