//===- JsonText.h - JSON from outside, read with care -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_JSONTEXT_H
#define CP_FILES_JSONTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// What to do with Python's literals Infinity, -Infinity and NaN, which JSON
/// does not have.
enum class NonFinite {
  /// Leave them to the parser, which calls them invalid.
  Refuse,
  /// Read Infinity as a number that overflows to it, and NaN as the string
  /// "NaN", which no numeric field takes.
  Accept
};

/// Parses text that may be hostile. Besides invalid JSON and invalid UTF-8 it
/// refuses a name that an object holds twice (a parser keeps the last one
/// silently) and nesting deeper than 64 (the parser is recursive). `what`
/// starts each message.
llvm::Expected<llvm::json::Value>
parseJson(llvm::StringRef text, llvm::StringRef what, NonFinite nonFinite);

/// A value for a message: its text, or "a list" and "an object".
std::string describe(const llvm::json::Value &value);

} // namespace cp

#endif // CP_FILES_JSONTEXT_H
