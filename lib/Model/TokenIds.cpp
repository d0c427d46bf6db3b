//===- TokenIds.cpp - Token ids as text -----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/Convert.h"

#include "Files/FileIO.h"

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef space = " \t\r\n\v\f";

static Error unexpected(StringRef text, StringRef rest, StringRef label) {
  size_t line = text.drop_back(rest.size()).count('\n') + 1;
  StringRef word =
      rest.take_until([](char c) { return c == ',' || space.contains(c); });
  return makeError(label + ":" + Twine(line) +
                   ": expected whole numbers between white space or commas, "
                   "got " +
                   (rest.empty()
                        ? "the end behind a comma"
                        : quoted(word.empty() ? rest.take_front(1) : word)));
}

Expected<std::vector<int64_t>> cp::parseTokenIds(StringRef text,
                                                 StringRef label) {
  std::vector<int64_t> ids;
  std::string start = quoted(label);
  StringRef rest = text.ltrim(space);
  bool afterComma = false;
  while (!rest.empty() || afterComma) {
    StringRef at = rest;
    int64_t id;
    if (rest.consumeInteger(10, id))
      return unexpected(text, at, start);
    ids.push_back(id);
    StringRef next = rest.ltrim(space);
    afterComma = next.consume_front(",");
    // A number ends where white space, a comma or the text does.
    if (next.size() == rest.size() && !rest.empty())
      return unexpected(text, at, start);
    rest = next.ltrim(space);
  }
  return ids;
}

Expected<std::vector<int64_t>> cp::readTokenIds(StringRef path) {
  auto buffer = openRegularFile(path, UINT64_MAX);
  if (!buffer)
    return buffer.takeError();
  return parseTokenIds((*buffer)->getBuffer(), path);
}
