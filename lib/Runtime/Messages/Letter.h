//===- Letter.h - What ranks say to each other beside data ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_LETTER_H
#define CP_LIB_RUNTIME_MESSAGES_LETTER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cp::runtime {

/// A letter's address that stands for all ranks but the one that writes.
inline constexpr int64_t everyone = -1;

/// A short text with an address. On the wire: five words of 32 bits in the
/// machine's order (a magic number, kind, from, to, bytes), then the text.
struct Letter {
  enum class Kind : uint32_t {
    /// Who joins, and that all have. The answer to who may not is a failure.
    Hello = 1,
    Welcome,
    /// In front of the welcome: a rank's address in the transport.
    Address,
    /// A status and its text.
    Failure,
    /// "Where are you?", asked of a rank that another waits for.
    Where,
    /// The answer: who has not come, as far as the one knows who is asked, and
    /// how it knows.
    Absent,
    /// The last letter of a rank.
    Bye,
    /// In place of a hello: who will not join, and why.
    Decline
  };
  Kind kind;
  int64_t from = 0, to = everyone;
  std::string text = {};
};

/// The longest text; longer ones are cut where that makes sense, and refused
/// where they come in.
inline constexpr size_t maxLetterBytes = 1 << 16;

std::string toWire(const Letter &letter);

/// Letters as they come in, in whatever pieces.
class LetterReader {
public:
  void add(const char *bytes, size_t count);
  /// The next letter that is whole.
  std::optional<Letter> next();
  /// Whether what came is no letter; nothing comes after it.
  bool isMalformed() const { return malformed; }

private:
  void check();

  std::string unread;
  bool malformed = false;
};

/// Numbers and texts in a row, for a letter's text.
class TextWriter {
public:
  TextWriter &number(uint64_t value);
  TextWriter &numbers(const std::vector<int64_t> &values);
  TextWriter &text(std::string_view value);
  std::string take() { return std::move(written); }

private:
  std::string written;
};

/// Reads them in the same order. What is not there is 0 or empty, and fails.
class TextReader {
public:
  explicit TextReader(std::string_view unread) : unread(unread) {}
  uint64_t number();
  std::vector<int64_t> numbers();
  std::string text();
  bool hasFailed() const { return failed; }
  bool isAtEnd() const { return unread.empty(); }

private:
  std::string_view take(uint64_t count);

  std::string_view unread;
  bool failed = false;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_LETTER_H
