//===- Letter.cpp - What ranks say to each other beside data --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Letter.h"

#include <cstring>

using namespace cp::runtime;

namespace {
struct Header {
  uint32_t magic, kind;
  int32_t from, to;
  uint32_t bytes;
};
} // namespace

/// "cprt", and the version of what letters hold.
static constexpr uint32_t magic = 0x63707200 + 1;

std::string cp::runtime::toWire(const Letter &letter) {
  std::string_view text =
      std::string_view(letter.text).substr(0, maxLetterBytes);
  Header header = {magic, uint32_t(letter.kind), int32_t(letter.from),
                   int32_t(letter.to), uint32_t(text.size())};
  std::string wire(sizeof header, '\0');
  std::memcpy(wire.data(), &header, sizeof header);
  return wire.append(text);
}

void LetterReader::add(const char *bytes, size_t count) {
  if (malformed)
    return;
  unread.append(bytes, count);
  check();
}

/// Looks at what should be the head of a letter.
void LetterReader::check() {
  Header header;
  if (unread.size() < sizeof header)
    return;
  std::memcpy(&header, unread.data(), sizeof header);
  malformed = header.magic != magic || header.bytes > maxLetterBytes ||
              header.kind < uint32_t(Letter::Kind::Hello) ||
              header.kind > uint32_t(Letter::Kind::Decline);
}

std::optional<Letter> LetterReader::next() {
  Header header;
  if (malformed || unread.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, unread.data(), sizeof header);
  if (unread.size() < sizeof header + header.bytes)
    return std::nullopt;
  Letter letter = {Letter::Kind(header.kind), header.from, header.to,
                   unread.substr(sizeof header, header.bytes)};
  unread.erase(0, sizeof header + header.bytes);
  check();
  return letter;
}

TextWriter &TextWriter::number(uint64_t value) {
  written.append(reinterpret_cast<const char *>(&value), sizeof value);
  return *this;
}

TextWriter &TextWriter::numbers(const std::vector<int64_t> &values) {
  number(values.size());
  for (int64_t value : values)
    number(uint64_t(value));
  return *this;
}

TextWriter &TextWriter::text(std::string_view value) {
  number(value.size());
  written.append(value);
  return *this;
}

std::string_view TextReader::take(uint64_t count) {
  failed |= count > unread.size();
  if (failed)
    return {};
  std::string_view taken = unread.substr(0, count);
  unread.remove_prefix(count);
  return taken;
}

uint64_t TextReader::number() {
  uint64_t value = 0;
  std::string_view bytes = take(sizeof value);
  if (!failed)
    std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<int64_t> TextReader::numbers() {
  uint64_t count = number();
  failed |= count > unread.size() / sizeof(uint64_t);
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < count && !failed; ++i)
    values.push_back(int64_t(number()));
  return values;
}

std::string TextReader::text() { return std::string(take(number())); }
