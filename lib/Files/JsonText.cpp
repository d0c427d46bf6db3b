//===- JsonText.cpp - JSON from outside, read with care -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonText.h"

#include "FileIO.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr size_t maxDepth = 64;

namespace {

/// One pass over the text before the parser's. It trusts nothing about the
/// syntax: text that is no JSON passes through and the parser refuses it.
class Scanner {
public:
  Scanner(StringRef text, StringRef what, NonFinite nonFinite)
      : text(text), what(what), nonFinite(nonFinite) {}

  Error run();
  /// The text with the literals replaced.
  std::string takeOutput() { return std::move(output); }

private:
  Error open();
  Error takeString();
  Error noteKey(StringRef literal);
  bool takeLiteral(StringRef literal, StringRef replacement);

  StringRef text;
  StringRef what;
  NonFinite nonFinite;
  size_t position = 0;
  std::string output;
  /// The names seen in each object that is open; for a list, none.
  llvm::SmallVector<llvm::StringSet<>, 8> levels;
};

} // namespace

Error Scanner::run() {
  output.reserve(text.size());
  while (position < text.size()) {
    char c = text[position];
    if (c == '"') {
      if (Error error = takeString())
        return error;
      continue;
    }
    if (nonFinite == NonFinite::Accept &&
        (takeLiteral("Infinity", "1e999") || takeLiteral("NaN", "\"NaN\"")))
      continue;
    if (c == '{' || c == '[')
      if (Error error = open())
        return error;
    if ((c == '}' || c == ']') && !levels.empty())
      levels.pop_back();
    output += c;
    ++position;
  }
  return Error::success();
}

Error Scanner::open() {
  if (levels.size() == maxDepth)
    return makeError(Twine(what) + ": expected JSON at most " +
                     Twine(maxDepth) + " levels deep, got more at byte " +
                     Twine(position));
  levels.emplace_back();
  return Error::success();
}

Error Scanner::takeString() {
  size_t end = position + 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  end = std::min(end + 1, text.size());
  StringRef literal = text.slice(position, end);
  bool isKey = text.substr(end).ltrim(" \t\r\n").starts_with(":");
  if (isKey && !levels.empty())
    if (Error error = noteKey(literal))
      return error;
  output += literal;
  position = end;
  return Error::success();
}

Error Scanner::noteKey(StringRef literal) {
  std::string key = literal.drop_front().drop_back().str();
  // "a" and "\u0061" are one name.
  if (literal.contains('\\')) {
    Expected<llvm::json::Value> decoded = llvm::json::parse(literal);
    if (!decoded) {
      llvm::consumeError(decoded.takeError());
      return Error::success();
    }
    key = decoded->getAsString()->str();
  }
  if (levels.back().insert(key).second)
    return Error::success();
  return makeError(Twine(what) + ": expected each name once, got " +
                   quoted(key) + " a second time at byte " + Twine(position));
}

bool Scanner::takeLiteral(StringRef literal, StringRef replacement) {
  if (!text.substr(position).starts_with(literal))
    return false;
  // Part of a longer word, as in 1Infinity: not the literal.
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; };
  size_t end = position + literal.size();
  if ((position > 0 && isWord(text[position - 1])) ||
      (end < text.size() && isWord(text[end])))
    return false;
  output += replacement;
  position = end;
  return true;
}

Expected<llvm::json::Value> cp::parseJson(StringRef text, StringRef what,
                                          NonFinite nonFinite) {
  Scanner scanner(text, what, nonFinite);
  if (Error error = scanner.run())
    return error;
  Expected<llvm::json::Value> value = llvm::json::parse(scanner.takeOutput());
  if (!value)
    return makeError(Twine(what) + ": expected valid JSON, got " +
                     llvm::toString(value.takeError()));
  return value;
}

std::string cp::describe(const llvm::json::Value &value) {
  if (value.getAsObject())
    return "an object";
  if (value.getAsArray())
    return "a list";
  if (std::optional<StringRef> text = value.getAsString())
    return "the string " + quoted(*text);
  return llvm::formatv("{0}", value).str();
}
