//===- FieldReader.h - Typed fields of a JSON object ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_FIELDREADER_H
#define CP_MODEL_FIELDREADER_H

#include "cp/Model/LanguageModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cp {

/// Reads fields of one JSON object. The first thing wrong is kept for
/// takeError(), and every getter still returns its default then, so that a
/// reader is a plain list of fields. Fields asked for are known; finish()
/// refuses the others.
class FieldReader {
public:
  /// `label` starts messages; `prefix`, such as "ssm_cfg.", starts field names.
  /// The object must outlive the reader.
  FieldReader(const llvm::json::Object &object, std::string label,
              std::string prefix = "")
      : object(object), label(std::move(label)), prefix(std::move(prefix)) {}

  /// Lets `other` say what `key` does, and before it where both are there; the
  /// field then has that name in messages. Before any other call.
  void readAs(llvm::StringRef other, llvm::StringRef key,
              std::vector<std::string> &remarks);

  /// Whether the field is there; this alone makes it known.
  bool has(llvm::StringRef key);
  /// Whether the field is there and not null.
  bool hasValue(llvm::StringRef key);

  /// A whole number from 1 to 2^31-1.
  int64_t size(llvm::StringRef key, int64_t absent);
  /// As size(), with a remark that `library`'s default was taken when absent.
  int64_t size(llvm::StringRef key, int64_t absent, llvm::StringRef library,
               std::vector<std::string> &remarks);
  /// A whole number from 0, below `end`, or nothing for null.
  std::optional<int64_t> index(llvm::StringRef key,
                               std::optional<int64_t> absent, int64_t end);
  /// A finite number that is at least `low`, or above it with `open`.
  double real(llvm::StringRef key, double absent, double low, bool open);
  bool flag(llvm::StringRef key, bool absent);
  std::string text(llvm::StringRef key, llvm::StringRef absent);
  /// A list of two numbers, 0 <= first <= second; the second may be infinite.
  std::pair<double, double> interval(llvm::StringRef key,
                                     std::pair<double, double> absent);
  /// The object under `key`, or null when absent or wrong.
  const llvm::json::Object *nested(llvm::StringRef key);
  /// The list under `key`, or null when absent, null or wrong.
  const llvm::json::Array *list(llvm::StringRef key);
  /// Refuses the field unless it is absent, null, false, 0 or an empty list or
  /// object; `why` says what it would ask for.
  void refuseUnlessEmpty(llvm::StringRef key, llvm::StringRef why);
  /// A remark, if the field is there, that the model's semantics ignores it;
  /// `why` says what holds instead.
  void remarkIgnored(LanguageModel &model, llvm::StringRef key,
                     llvm::StringRef why);
  /// Numbers of at least 0, 0 by default, that count in training alone; `what`
  /// is what a remark says of one that is given.
  void readTrainingOnly(LanguageModel &model,
                        llvm::ArrayRef<llvm::StringRef> keys,
                        llvm::StringRef what);
  /// The field changes nothing here, whatever its value.
  void ignore(llvm::ArrayRef<llvm::StringRef> keys);

  /// The field's value as text, for remarks.
  std::string valueText(llvm::StringRef key) const;
  /// The full name of a field, as the object has it.
  std::string name(llvm::StringRef key) const {
    return prefix + own(key).str();
  }

  /// Takes over what is wrong with a nested object: its first error, or fields
  /// that were never asked for.
  void adopt(FieldReader &nested);
  /// Keeps an error of that text about the field, if it is the first.
  void fail(llvm::StringRef key, const llvm::Twine &message);
  /// The first error, or one that lists all fields never asked for.
  llvm::Error finish();

private:
  llvm::StringRef own(llvm::StringRef key) const {
    auto found = otherNames.find(key);
    return found == otherNames.end() ? key : found->second;
  }
  const llvm::json::Value *get(llvm::StringRef key);
  void expected(llvm::StringRef key, const llvm::Twine &what,
                const llvm::json::Value &value);

  const llvm::json::Object &object;
  std::string label;
  std::string prefix;
  llvm::StringSet<> known;
  llvm::StringMap<llvm::StringRef> otherNames;
  std::string firstError;
};

} // namespace cp

#endif // CP_MODEL_FIELDREADER_H
