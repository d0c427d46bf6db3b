//===- Question.cpp - One line that the worker is asked -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Question.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace cp::bench {

llvm::Expected<Question> Question::parse(StringRef line) {
  llvm::SmallVector<StringRef> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty())
    return llvm::createStringError("a question starts with the name of a row, "
                                   "but this one is empty");
  Question question;
  question.name = words.front().str();
  for (StringRef word : llvm::drop_begin(words)) {
    auto [key, value] = word.split('=');
    if (key.empty() || value.empty())
      return llvm::createStringError("settings have the form KEY=VALUE, but "
                                     "this one is '" +
                                     word + "'");
    question.settings[key.str()] = value.str();
  }
  return question;
}

std::string Question::text(const std::string &key,
                           const std::string &otherwise) const {
  known.insert(key);
  auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

int64_t Question::integer(const std::string &key, int64_t otherwise) const {
  std::string value = text(key, std::to_string(otherwise));
  int64_t number;
  if (!StringRef(value).getAsInteger(10, number) && number >= 1)
    return number;
  if (wrong.empty())
    wrong = key + " must be a whole number from 1 on, but is '" + value + "'";
  return 1;
}

bool Question::isNarrow() const {
  std::string value = text("dtype", "f32");
  if (value != "f32" && value != "bf16" && wrong.empty())
    wrong = "dtype must be f32 or bf16, but is '" + value + "'";
  return value == "bf16";
}

llvm::Error Question::check() const {
  if (!wrong.empty())
    return llvm::createStringError(name + ": " + wrong);
  for (const auto &[key, value] : settings)
    if (!known.count(key))
      return llvm::createStringError(name + " has no setting '" + key +
                                     "'; it has: " + llvm::join(known, ", "));
  return llvm::Error::success();
}

std::string Question::without(const std::set<std::string> &keys) const {
  std::string result = name;
  for (const auto &[key, value] : settings)
    if (!keys.count(key))
      result += " " + key + "=" + value;
  return result;
}

} // namespace cp::bench
