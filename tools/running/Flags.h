//===- Flags.h - What a command line may say --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_FLAGS_H
#define CP_TOOLS_RUNNING_FLAGS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <string>
#include <type_traits>

namespace cp {

/// Refuses what is empty, as of a shell's variable that is not set: the run
/// would go on without it.
struct FilledParser : llvm::cl::parser<std::string> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef flag,
             llvm::StringRef text, std::string &value) {
    // Without a sign and a value behind it, where an option may be, it is null.
    if (text.data() && text.empty())
      return option.error("expected a word or a name, but it is empty; give "
                          "one, or leave the option out",
                          flag);
    value = text.str();
    return false;
  }
};

/// What a flag's text is read as that says a number: in decimal, and not empty.
/// LLVM's own parsers take an empty text for 0, and what starts with one for a
/// number of eights.
template <typename T> struct Decimal {
  T value = 0;
  operator T() const { return value; }
};

} // namespace cp

template <typename T>
class llvm::cl::parser<cp::Decimal<T>> : public basic_parser<cp::Decimal<T>> {
public:
  using basic_parser<cp::Decimal<T>>::basic_parser;
  StringRef getValueName() const override { return "number"; }
  bool parse(Option &option, StringRef flag, StringRef text,
             cp::Decimal<T> &number) {
    if constexpr (std::is_integral_v<T>) {
      if (!text.getAsInteger(10, number.value))
        return false;
    } else if (!text.empty() && !text.getAsDouble(number.value)) {
      return false;
    }
    return option.error("expected a number, but got '" + text +
                            "'; give one in decimal that fits, or leave the "
                            "option out",
                        flag);
  }
};

namespace cp {

/// One of a few words; LLVM's own parser does not say which there are.
template <typename T> struct ChoiceParser : llvm::cl::parser<T> {
  using llvm::cl::parser<T>::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef flag,
             llvm::StringRef text, T &value) {
    std::string names;
    for (const auto &choice : this->Values) {
      if (choice.Name == text) {
        value = choice.V.getValue();
        return false;
      }
      if (!choice.Name.empty())
        names += (names.empty() ? "" : ", ") + choice.Name.str();
    }
    return option.error("expected one of " + names + ", but got '" + text + "'",
                        flag);
  }
};

namespace flags {
template <typename T>
using ParserOf = std::conditional_t<
    std::is_enum_v<T>, ChoiceParser<T>,
    llvm::cl::parser<std::conditional_t<
        std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, Decimal<T>, T>>>;
} // namespace flags

/// A flag that writes straight into a field, and one that keeps its value.
template <typename T>
using Flag = llvm::cl::opt<T, /*ExternalStorage=*/true, flags::ParserOf<T>>;
template <typename T>
using OwnFlag = llvm::cl::opt<T, /*ExternalStorage=*/false, flags::ParserOf<T>>;

/// One for a word, and one for the name of a file or a folder.
using WordFlag =
    llvm::cl::opt<std::string, /*ExternalStorage=*/true, FilledParser>;
using FileFlag = WordFlag;

} // namespace cp

#endif // CP_TOOLS_RUNNING_FLAGS_H
