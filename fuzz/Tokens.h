//===- Tokens.h - IR as tokens ----------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FUZZ_TOKENS_H
#define CP_FUZZ_TOKENS_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace cp::fuzz {

/// A Value is what begins with a sigil: %x, #map, @f, ^bb, !type.
enum class Kind { Space, Integer, Word, Value, String, Other };

struct Token {
  Kind kind;
  std::string text;
  bool operator==(const Token &other) const { return text == other.text; }
};

/// The tokens of any text; joined they are the text again. Sizes in 4x8xf32 are
/// integers of their own.
std::vector<Token> tokenize(llvm::StringRef text);

} // namespace cp::fuzz

#endif // CP_FUZZ_TOKENS_H
