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
  for (size_t i = 0; i < sizes.size(); ++i) {
    StringRef size = sizes[i];
    bool maybe = size.consume_back("?");
    // With the comma that goes with it: b[,l], [b,]l
    list +=
        maybe ? (i ? "[," : "[") + size.str() + (i ? "]" : ",]")
              : (i && !StringRef(list).ends_with(",]") ? "," : "") + size.str();
  }
  return name + (isOptional ? "?" : "") + "[" + list + "]" +
         (isVariadic ? "..." : "");
}

bool Tensor::hasFixedRank() const {
  return !isVariadic && !sizes.empty() && sizes.front() != "..." &&
         type != "any" && type != "id" && type != "i32";
}

bool Operation::hasFixedRanks() const {
  auto isFixed = [](const Tensor &tensor) { return tensor.hasFixedRank(); };
  auto mayLack = [](StringRef size) { return size.ends_with("?"); };
  return all_of(ins, isFixed) && all_of(outs, [&](const Tensor &tensor) {
           return isFixed(tensor) && none_of(tensor.sizes, mayLack);
         });
}

size_t Operation::requiredIns() const {
  size_t count = ins.size();
  while (count && ins[count - 1].isOptional)
    --count;
  return count;
}

std::string upperCamel(StringRef name) {
  return convertToCamelFromSnakeCase(name, /*capitalizeFirst=*/true);
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

/// The records of a list, each with its name.
static std::vector<std::pair<const Record *, std::string>>
listOf(const Record &record, StringRef field, StringRef kind) {
  const DagInit *list = record.getValueAsDag(field);
  std::vector<std::pair<const Record *, std::string>> entries;
  auto fail = [&](const Twine &text) {
    PrintFatalError(record.getLoc(), "operation '" +
                                         record.getValueAsString("symbol") +
                                         "': '" + field + "' " + text);
  };
  if (list->getOperatorAsDef(record.getLoc())->getName() != kind)
    fail("must be a list of (" + kind + " ...)");
  for (unsigned i = 0; i < list->getNumArgs(); ++i) {
    auto *entry = dyn_cast<DefInit>(list->getArg(i));
    StringRef base = kind == "attributes" ? "CPRT_Attribute" : "CPRT_Tensor";
    if (!entry || !entry->getDef()->isSubClassOf(base))
      fail("has what is no " + base + " at place " + Twine(i));
    entries.push_back({entry->getDef(), list->getArgNameStr(i).str()});
  }
  return entries;
}

static std::vector<Tensor> tensorsOf(const Record &record, StringRef field,
                                     StringRef kind) {
  std::vector<Tensor> tensors;
  for (auto &[tensor, name] : listOf(record, field, kind)) {
    std::string sizes;
    for (char c : tensor->getValueAsString("sizes"))
      if (c != ' ')
        sizes += c;
    tensors.push_back({name, tensor->getValueAsString("type").str(),
                       splitAt(sizes, ','), tensor->getValueAsBit("isOptional"),
                       tensor->getValueAsBit("isVariadic")});
  }
  return tensors;
}

static std::vector<Attribute> attributesOf(const Record &record) {
  std::vector<Attribute> attributes;
  for (auto &[attribute, name] : listOf(record, "attrs", "attributes"))
    attributes.push_back({name, attribute->getValueAsString("kind").str(),
                          attribute->getValueAsInt("least")});
  return attributes;
}

std::vector<Operation> operationsOf(const RecordKeeper &records) {
  std::vector<const Record *> defs =
      records.getAllDerivedDefinitions("CPRT_Operation").vec();
  sort(defs, [](const Record *a, const Record *b) {
    return a->getID() < b->getID();
  });
  std::vector<Operation> operations;
  StringSet<> symbols;
  for (const Record *def : defs) {
    operations.push_back(
        {def, def->getValueAsString("symbol").str(),
         unindented(def->getValueAsString("description")),
         tensorsOf(*def, "ins", "inputs"), tensorsOf(*def, "outs", "outputs"),
         attributesOf(*def), def->getValueAsBit("isKernel"),
         def->getValueAsBit("onlyMoves"), def->getValueAsBit("hasMethod"),
         def->getValueAsBit("takesFunction")});
    check(operations.back());
    if (!symbols.insert(operations.back().symbol).second)
      PrintFatalError(def->getLoc(), "operation '" + operations.back().symbol +
                                         "' is declared twice; rename one");
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
         << (attribute.least == INT64_MIN ? "INT64_MIN"
                                          : std::to_string(attribute.least))
         << "},\n";
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
