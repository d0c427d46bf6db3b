//===- Check.cpp - What no operation can say --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"

using namespace llvm;

namespace cp::tblgen {

/// Words that no member of a structure can have as a name.
static bool isKeyword(StringRef name) {
  return is_contained(
      {"alignas",  "and",      "asm",       "auto",    "bool",     "break",
       "case",     "catch",    "char",      "class",   "compl",    "const",
       "continue", "default",  "delete",    "do",      "double",   "else",
       "enum",     "explicit", "export",    "extern",  "false",    "float",
       "for",      "friend",   "goto",      "if",      "inline",   "int",
       "long",     "mutable",  "namespace", "new",     "not",      "operator",
       "or",       "private",  "protected", "public",  "register", "restrict",
       "return",   "short",    "signed",    "sizeof",  "static",   "struct",
       "switch",   "template", "this",      "throw",   "true",     "try",
       "typedef",  "typeid",   "typename",  "union",   "unsigned", "using",
       "virtual",  "void",     "volatile",  "wchar_t", "while",    "xor"},
      name);
}

namespace {

/// Ends the program where a record says what cannot be.
class Checker {
public:
  explicit Checker(const Operation &operation) : operation(operation) {}

  void check() {
    for (const Attribute &attribute : operation.attributes)
      check(attribute);
    checkPresence();
    for (const auto *tensors : {&operation.ins, &operation.outs})
      for (const Tensor &tensor : *tensors)
        check(tensor);
    for (const auto &size : sizes)
      if (names.contains(size.first()))
        fail("'" + size.first() + "' is a size and something else; rename one");
  }

private:
  [[noreturn]] void fail(const Twine &text) {
    PrintFatalError(operation.record->getLoc(),
                    "operation '" + operation.symbol + "': " + text);
  }
  void add(StringRef name) {
    if (name.empty())
      fail("a tensor or an attribute has no name; write `:$name` behind it");
    if (isKeyword(name))
      fail("'" + name + "' is a keyword of C or C++; rename it");
    if (!names.insert(name).second)
      fail("'" + name + "' is given twice; rename one");
  }
  void check(const Attribute &attribute) {
    add(attribute.name);
    bool isWord = is_contained({"flag", "integer", "signed", "real", "order"},
                               attribute.kind);
    if (!isWord && !attribute.isArray())
      fail("attribute '" + attribute.name + "' is of kind '" + attribute.kind +
           "'; use flag, integer, signed, real, order, words, axes or orders");
    if (attribute.isArray())
      add(attribute.name + "_size");
    if (operation.isKernel && (!isWord || attribute.kind == "order"))
      fail("attribute '" + attribute.name + "' of a kernel is of kind '" +
           attribute.kind + "'; use flag, integer, signed or real");
  }
  void checkPresence() {
    for (const Tensor &tensor : operation.outs)
      if (tensor.isOptional)
        fail("output '" + tensor.name + "' is optional; only inputs may be");
    auto isVariadic = [](const Tensor &tensor) { return tensor.isVariadic; };
    auto isOptional = [](const Tensor &tensor) { return tensor.isOptional; };
    if (any_of(operation.ins, isVariadic) && any_of(operation.ins, isOptional))
      fail("optional inputs stand beside any number of others, from which they "
           "could not be told; use one or the other");
  }
  void check(const Tensor &tensor) {
    add(tensor.name);
    if (!is_contained(
            {"T", "sum", "f32", "f64", "bf16", "i32", "i64", "id", "any"},
            tensor.type))
      fail("tensor '" + tensor.name + "' has the type '" + tensor.type +
           "'; use T, sum, id, any, f32, f64, bf16, i32 or i64");
    for (size_t i = 0; i < tensor.sizes.size(); ++i)
      checkSize(tensor, i);
  }
  void checkSize(const Tensor &tensor, size_t i) {
    StringRef size = tensor.sizes[i];
    if (size == "...") {
      if (i != 0)
        fail("tensor '" + tensor.name +
             "' has ... behind a size; it stands for leading ones");
      return;
    }
    if (size.consume_back("?")) {
      if (i != 0 && i + 1 != tensor.sizes.size())
        fail("tensor '" + tensor.name +
             "' has a size with ? between others; "
             "only the first or the last may be left out");
      if (tensor.sizes.size() == 1 ||
          (i != 0 && StringRef(tensor.sizes.front()).ends_with("?")))
        fail("tensor '" + tensor.name +
             "' would have no size, or lack one of two; "
             "only one of several may be left out");
    }
    if (size.contains('-') || size.contains('('))
      return checkDerived(tensor, size);
    if (size.empty() || !isAlpha(size.front()) || size == "T" ||
        isKeyword(size) ||
        !all_of(size, [](char c) { return isAlnum(c) || c == '_'; }))
      fail("tensor '" + tensor.name + "' has the size '" + size +
           "'; use a name, name-number, ceil(name/attribute) or ...");
    sizes.insert(size);
  }
  /// "w-1" or "ceil(l/chunk_size)"
  void checkDerived(const Tensor &tensor, StringRef size) {
    StringRef text = size, of;
    uint64_t number = 0;
    if (text.consume_front("ceil(") && text.consume_back(")")) {
      StringRef attribute;
      std::tie(of, attribute) = text.split('/');
      if (none_of(operation.attributes, [&](const Attribute &known) {
            return known.name == attribute && known.least > 0;
          }))
        fail("size '" + size + "' of tensor '" + tensor.name +
             "' divides by what is no integer attribute of at least 1");
    } else {
      std::tie(of, text) = size.split('-');
      if (text.getAsInteger(10, number))
        fail("size '" + size + "' of tensor '" + tensor.name +
             "' is not understood; use name-number or ceil(name/attribute)");
    }
    if (!sizes.contains(of))
      fail("size '" + size + "' of tensor '" + tensor.name + "' goes by '" +
           of + "', which no tensor before it has");
  }

  const Operation &operation;
  StringSet<> names, sizes;
};

} // namespace

void check(const Operation &operation) { Checker(operation).check(); }

} // namespace cp::tblgen
