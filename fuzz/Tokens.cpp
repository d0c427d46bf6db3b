//===- Tokens.cpp - IR as tokens ------------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tokens.h"

#include "llvm/ADT/StringExtras.h"

using namespace cp::fuzz;
using llvm::StringRef;

static bool isWordChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-';
}

static Kind kindOf(StringRef text, bool afterInteger) {
  char c = text.front();
  if (llvm::isSpace(c))
    return Kind::Space;
  if (llvm::isDigit(c) ||
      (c == '-' && text.size() > 1 && llvm::isDigit(text[1])))
    return Kind::Integer;
  if (c == '%' || c == '#' || c == '@' || c == '^' || c == '!')
    return Kind::Value;
  // The x of 4x8xf32 is a token of its own.
  if (llvm::isAlpha(c))
    return afterInteger && c == 'x' ? Kind::Other : Kind::Word;
  return c == '"' ? Kind::String : Kind::Other;
}

static size_t lengthOf(StringRef text, Kind kind) {
  auto whole = [&](auto belongs) {
    return 1 + text.drop_front().take_while(belongs).size();
  };
  switch (kind) {
  case Kind::Space:
    return text.front() == '\n'
               ? 1
               : whole([](char c) { return c == ' ' || c == '\t'; });
  case Kind::Integer:
    return whole([](char c) { return llvm::isDigit(c); });
  case Kind::Word:
  case Kind::Value:
    return whole(isWordChar);
  case Kind::String: {
    size_t close = text.find('"', 1);
    return close == StringRef::npos ? text.size() : close + 1;
  }
  case Kind::Other:
    return 1;
  }
  return 1;
}

std::vector<Token> cp::fuzz::tokenize(StringRef text) {
  std::vector<Token> tokens;
  while (!text.empty()) {
    bool afterInteger = !tokens.empty() && tokens.back().kind == Kind::Integer;
    Kind kind = kindOf(text, afterInteger);
    size_t length = lengthOf(text, kind);
    tokens.push_back({kind, text.take_front(length).str()});
    text = text.drop_front(length);
  }
  return tokens;
}
