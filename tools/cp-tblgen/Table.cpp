//===- Table.cpp - The operations of a table ------------------ -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"

using namespace llvm;

namespace cp::tblgen {

static std::vector<std::string> splitAt(StringRef text, char separator) {
  SmallVector<StringRef> parts;
  text.split(parts, separator, /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

std::string Tensor::text() const {
  std::string list;
  for (StringRef size : sizes) {
    bool maybe = size.consume_back("?");
    if (maybe)
      list += "[";
    list += (list.empty() || list == "[" ? "" : ",") + size.str();
    if (maybe)
      list += "]";
  }
  return name + (isOptional ? "?" : "") + "[" + list + "]" +
         (isVariadic ? "..." : "");
}

bool Operation::hasFixedRanks() const {
  auto isFixed = [](const Tensor &tensor) {
    return tensor.hasFixedRank() && !tensor.isVariadic;
  };
  return all_of(ins, isFixed) && all_of(outs, isFixed);
}

size_t Operation::requiredIns() const {
  size_t count = ins.size();
  while (count && ins[count - 1].isOptional)
    --count;
  return count;
}

std::string upperCamel(StringRef name) {
  std::string camel;
  for (const std::string &word : splitAt(name, '_'))
    camel += std::string(1, toUpper(word[0])) + word.substr(1);
  return camel;
}

std::string lowerCamel(StringRef name) {
  if (name.size() == 1)
    return name.str();
  std::string camel = upperCamel(name);
  camel[0] = toLower(camel[0]);
  return camel;
}

/// Without the indentation of the first line, and without empty ones around.
static std::vector<std::string> unindented(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  while (!lines.empty() && lines.back().trim().empty())
    lines.pop_back();
  auto *begin = find_if(lines, [](StringRef l) { return !l.trim().empty(); });
  std::vector<std::string> result;
  if (begin == lines.end())
    return result;
  size_t indent = begin->find_first_not_of(' ');
  for (StringRef line : make_range(begin, lines.end()))
    result.push_back(line.drop_front(std::min(indent, line.size())).str());
  return result;
}

static std::vector<Tensor> tensorsOf(const Record &record, StringRef field) {
  const DagInit *list = record.getValueAsDag(field);
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < list->getNumArgs(); ++i) {
    const Record *tensor = cast<DefInit>(list->getArg(i))->getDef();
    std::string sizes;
    for (char c : tensor->getValueAsString("sizes"))
      if (c != ' ')
        sizes += c;
    tensors.push_back({list->getArgNameStr(i).str(),
                       tensor->getValueAsString("type").str(),
                       splitAt(sizes, ','), tensor->getValueAsBit("isOptional"),
                       tensor->getValueAsBit("isVariadic")});
  }
  return tensors;
}

static std::vector<Attribute> attributesOf(const Record &record) {
  const DagInit *list = record.getValueAsDag("attrs");
  std::vector<Attribute> attributes;
  for (unsigned i = 0; i < list->getNumArgs(); ++i) {
    const Record *attribute = cast<DefInit>(list->getArg(i))->getDef();
    attributes.push_back({list->getArgNameStr(i).str(),
                          attribute->getValueAsString("kind").str(),
                          attribute->getValueAsInt("least")});
  }
  return attributes;
}

namespace {

/// Ends the program where a record says what cannot be.
class Checker {
public:
  explicit Checker(const Operation &operation) : operation(operation) {}

  void check() {
    for (const Attribute &attribute : operation.attributes)
      add(attribute.name);
    for (const Tensor &tensor : operation.ins)
      check(tensor);
    for (const Tensor &tensor : operation.outs)
      check(tensor);
  }

private:
  [[noreturn]] void fail(const Twine &text) {
    PrintFatalError(operation.record->getLoc(),
                    "operation '" + operation.symbol + "': " + text);
  }
  void add(StringRef name) {
    if (name.empty())
      fail("a tensor or an attribute has no name; write `:$name` behind it");
    if (!names.insert(name).second)
      fail("'" + name + "' is given twice; rename one");
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
    if (size.consume_back("?") && i + 1 != tensor.sizes.size())
      fail("tensor '" + tensor.name +
           "' has a size with ? before another; "
           "only the last may be left out");
    if (size.contains('-') || size.contains('('))
      return checkDerived(tensor, size);
    if (!all_of(size, [](char c) { return isAlnum(c) || c == '_'; }))
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

std::vector<Operation> operationsOf(const RecordKeeper &records) {
  std::vector<const Record *> defs =
      records.getAllDerivedDefinitions("CPRT_Operation").vec();
  sort(defs, [](const Record *a, const Record *b) {
    return a->getID() < b->getID();
  });
  std::vector<Operation> operations;
  for (const Record *def : defs) {
    operations.push_back(
        {def, def->getValueAsString("symbol").str(),
         unindented(def->getValueAsString("description")),
         tensorsOf(*def, "ins"), tensorsOf(*def, "outs"), attributesOf(*def),
         def->getValueAsBit("isKernel"), def->getValueAsBit("onlyMoves"),
         def->getValueAsBit("isOp"), def->getValueAsBit("takesFunction")});
    Checker(operations.back()).check();
  }
  return operations;
}

void writeHead(StringRef what, raw_ostream &os) {
  os << "/* " << what << ", made by cp-tblgen. */\n\n";
}

static StringRef kindOf(const Attribute &attribute) {
  return StringSwitch<StringRef>(attribute.kind)
      .Case("flag", "CPRT_WORD_FLAG")
      .Cases({"integer", "order"}, "CPRT_WORD_INTEGER")
      .Case("signed", "CPRT_WORD_SIGNED")
      .Case("real", "CPRT_WORD_REAL")
      .Default("CPRT_WORD_ARRAY");
}

static void writeTensors(ArrayRef<Tensor> tensors, const Twine &name,
                         raw_ostream &os) {
  if (tensors.empty())
    return;
  os << "static const cprt_tensor " << name << "[] = {\n";
  for (const Tensor &tensor : tensors)
    os << "    {\"" << tensor.name << "\", "
       << (tensor.isVariadic   ? "CPRT_VARIADIC"
           : tensor.isOptional ? "CPRT_OPTIONAL"
                               : "CPRT_REQUIRED")
       << "},\n";
  os << "};\n";
}

void writeSignature(const Operation &operation, StringRef prefix,
                    raw_ostream &os) {
  writeTensors(operation.ins, prefix + "_ins", os);
  writeTensors(operation.outs, prefix + "_outs", os);
  if (!operation.attributes.empty()) {
    os << "static const cprt_attribute " << prefix << "_attributes[] = {\n";
    for (const Attribute &attribute : operation.attributes)
      os << "    {\"" << attribute.name << "\", " << kindOf(attribute) << ", "
         << attribute.least << "},\n";
    os << "};\n";
  }
  auto list = [&](StringRef part, size_t size) {
    os << ", " << (size ? (prefix + "_" + part).str() : "0") << ", " << size;
  };
  StringRef name = operation.symbol;
  // With or without a function, what it does has one name.
  if (operation.takesFunction)
    name.consume_back("_with");
  os << "static const cprt_signature " << prefix << "_signature = {\n    \""
     << name << "\"";
  list("ins", operation.ins.size());
  list("outs", operation.outs.size());
  list("attributes", operation.attributes.size());
  os << "};\n";
}

} // namespace cp::tblgen
