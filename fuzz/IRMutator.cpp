//===- IRMutator.cpp - Changes that leave IR near to what parses ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRMutator.h"

#include "Tokens.h"
#include "Vocabulary.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace cp::fuzz;
using llvm::ArrayRef;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {

class Mutator {
public:
  Mutator(StringRef text, uint64_t seed);
  void change();
  std::string text() const;

private:
  size_t below(size_t bound) { return bound ? random() % bound : 0; }
  StringRef pick(ArrayRef<StringLiteral> from) {
    return from[below(from.size())];
  }
  /// A token of that kind, or the end.
  size_t any(Kind kind);
  std::string anotherText(const Token &token);
  void replace();
  void moveToken();
  void moveLine();
  void addAttribute();
  void changeLayout();
  void choosePasses();

  std::vector<Token> tokens;
  std::mt19937_64 random;
};

} // namespace

Mutator::Mutator(StringRef text, uint64_t seed) : random(seed) {
  // The names of passes change as a whole mostly.
  if (text.starts_with("//!") && below(8)) {
    size_t length = std::min(text.size(), text.find('\n'));
    tokens.push_back({Kind::Other, text.take_front(length).str()});
    text = text.drop_front(length);
  }
  llvm::append_range(tokens, tokenize(text));
}

std::string Mutator::text() const {
  std::string out;
  for (const Token &token : tokens)
    out += token.text;
  return out;
}

size_t Mutator::any(Kind kind) {
  std::vector<size_t> found;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].kind == kind)
      found.push_back(i);
  return found.empty() ? tokens.size() : found[below(found.size())];
}

/// Of the same kind: from the vocabulary, or from elsewhere in the text.
std::string Mutator::anotherText(const Token &token) {
  StringRef text = token.text;
  auto isOneOf = [&](ArrayRef<StringLiteral> list) {
    return llvm::is_contained(list, text);
  };
  if (token.kind == Kind::Integer) {
    int64_t number = 0;
    if (below(2) && !text.getAsInteger(10, number) &&
        std::abs(number / 4) < (int64_t(1) << 60))
      return std::to_string(below(2) ? number * 2
                                     : number + (below(2) ? 1 : -1));
    return pick(integers).str();
  }
  if (token.kind == Kind::String && below(2))
    return pick(strings).str();
  if (token.kind == Kind::Word && below(2)) {
    if (isOneOf(types))
      return pick(types).str();
    return pick(text.contains('.') ? ArrayRef(operations) : ArrayRef(words))
        .str();
  }
  size_t other = any(token.kind);
  return other < tokens.size() ? tokens[other].text : token.text;
}

/// Another text for a token, or for all that are the same in a run of lines: so
/// sizes and types that must agree still do.
void Mutator::replace() {
  static constexpr Kind kinds[] = {Kind::Integer, Kind::Integer, Kind::Word,
                                   Kind::Value, Kind::String};
  size_t at = any(kinds[below(std::size(kinds))]);
  if (at == tokens.size())
    return;
  Token old = tokens[at];
  std::string text = anotherText(old);
  if (below(2)) {
    tokens[at].text = text;
    return;
  }
  size_t first = below(2) ? 0 : at;
  size_t last = below(2) ? tokens.size() : std::min(at + 60, tokens.size());
  for (size_t i = first; i < last; ++i)
    if (tokens[i] == old)
      tokens[i].text = text;
}

void Mutator::moveToken() {
  if (tokens.empty())
    return;
  size_t at = below(tokens.size()), to = below(tokens.size());
  size_t count = std::min(1 + below(4), tokens.size() - at);
  std::vector<Token> piece(tokens.begin() + at, tokens.begin() + at + count);
  switch (below(3)) {
  case 0:
    tokens.erase(tokens.begin() + at, tokens.begin() + at + count);
    return;
  case 1:
    tokens.insert(tokens.begin() + to, piece.begin(), piece.end());
    return;
  default:
    std::swap(tokens[at], tokens[to]);
  }
}

void Mutator::moveLine() {
  std::string all = text();
  llvm::SmallVector<StringRef> lines;
  StringRef(all).split(lines, '\n');
  if (lines.size() < 3)
    return;
  // The first one names the passes.
  size_t at = 1 + below(lines.size() - 1), to = 1 + below(lines.size() - 1);
  switch (below(3)) {
  case 0:
    lines.erase(lines.begin() + at);
    break;
  case 1:
    lines.insert(lines.begin() + to, lines[at]);
    break;
  default:
    std::swap(lines[at], lines[to]);
  }
  *this = Mutator(llvm::join(lines, "\n"), random());
}

void Mutator::addAttribute() {
  std::vector<size_t> braces;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].text == "{")
      braces.push_back(i);
  if (braces.empty())
    return;
  tokens.insert(tokens.begin() + braces[below(braces.size())] + 1,
                Token{Kind::Other, pick(attributes).str()});
}

/// Another cut of one dimension, or partial sums. In an alias, so in all types
/// that name it.
void Mutator::changeLayout() {
  std::string all = text();
  std::vector<size_t> starts;
  for (size_t at = 0; (at = all.find("cp.layout<", at)) != std::string::npos;)
    starts.push_back(at++);
  if (starts.empty())
    return;
  size_t start = starts[below(starts.size())];
  size_t end = all.find("]>", start);
  std::vector<size_t> braces;
  for (size_t at = start; (at = all.find('{', at)) < end;)
    braces.push_back(at++);
  if (end == std::string::npos || braces.empty())
    return;
  if (below(6) == 0) {
    all.insert(end + 1, (", partial = " + pick(cuts)).str());
  } else {
    size_t open = braces[below(braces.size())];
    size_t close = std::min(all.find('}', open), end);
    all.replace(open, close - open + 1, pick(cuts).str());
  }
  *this = Mutator(all, random());
}

void Mutator::choosePasses() {
  std::string all = text();
  StringRef rest = all;
  if (rest.starts_with("//!"))
    rest = rest.drop_front(std::min(rest.size(), rest.find('\n')));
  *this = Mutator(
      ("//! " + pick(passes) + (rest.starts_with("\n") ? "" : "\n") + rest)
          .str(),
      random());
}

void Mutator::change() {
  switch (below(14)) {
  case 0:
    return choosePasses();
  case 12:
  case 13:
    return changeLayout();
  case 1:
    return addAttribute();
  case 2:
  case 3:
    return moveLine();
  case 4:
    return moveToken();
  default:
    return replace();
  }
}

std::string cp::fuzz::mutateIR(StringRef text, uint64_t seed) {
  Mutator mutator(text, seed);
  std::mt19937_64 random(seed + 1);
  // Most changes break the text, so few at a time.
  do
    mutator.change();
  while (random() % 3 == 0);
  return mutator.text();
}
