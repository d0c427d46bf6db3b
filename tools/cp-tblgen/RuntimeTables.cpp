//===- RuntimeTables.cpp - Operations in the runtime ------ -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace cp::tblgen {

/// The type of an attribute, and the member of WordReader that reads it.
static std::pair<StringRef, StringRef> readerOf(const Attribute &attribute) {
  using Pair = std::pair<StringRef, StringRef>;
  return StringSwitch<Pair>(attribute.kind)
      .Case("flag", {"bool", "flag"})
      .Cases({"integer", "signed"}, {"int64_t", "word"})
      .Case("real", {"double", "real"})
      .Case("order", {"Cut", "order"})
      .Default({"Words", "array"});
}

/// The attributes of a call that has passed the check of its signature.
static void writeAttributes(const Operation &operation, raw_ostream &os) {
  std::string name = upperCamel(operation.symbol) + "Attributes";
  os << "/// Of cprt_" << operation.symbol << ".\nstruct " << name << " {\n";
  for (const Attribute &attribute : operation.attributes)
    os << "  " << readerOf(attribute).first << " " << lowerCamel(attribute.name)
       << ";\n";
  os << "\n  explicit " << name << "(const Descriptor &call) {\n"
     << "    WordReader in(call);\n";
  for (const Attribute &attribute : operation.attributes)
    os << "    " << lowerCamel(attribute.name) << " = in."
       << readerOf(attribute).second << "();\n";
  os << "  }\n};\n\n";
}

static void writeEntry(const Operation &operation, raw_ostream &os) {
  os << "extern \"C\" void cprt_" << operation.symbol
     << "(cprt_context *context, cprt_stream *stream,\n"
        "    const int64_t *desc, void *const *buffers) {\n"
        "  runOp(context, stream, desc, buffers, signatures::"
     << lowerCamel(operation.symbol) << ", "
     << (operation.isKernel ? "runKernel"
                            : "operations::" + lowerCamel(operation.symbol))
     << ");\n}\n";
}

void writeRuntimeTables(const RecordKeeper &records, raw_ostream &os) {
  writeHead("Operations in the runtime", os);
  std::vector<Operation> operations = operationsOf(records);
  os << "#ifdef GET_DECLARATIONS\n#undef GET_DECLARATIONS\n\n"
        "namespace signatures {\n";
  for (const Operation &operation : operations)
    os << "extern const cprt_signature &" << lowerCamel(operation.symbol)
       << ";\n";
  os << "} // namespace signatures\n\nnamespace operations {\n";
  for (const Operation &operation : operations)
    if (!operation.isKernel && !operation.takesFunction)
      os << "Error " << lowerCamel(operation.symbol)
         << "(Context &context, const Descriptor &call);\n";
  os << "} // namespace operations\n\n";
  for (const Operation &operation : operations)
    if (!operation.isKernel && !operation.attributes.empty())
      writeAttributes(operation, os);
  os << "#endif\n\n#ifdef GET_DEFINITIONS\n#undef GET_DEFINITIONS\n\n";
  for (const Operation &operation : operations) {
    writeSignature(operation, operation.symbol, os);
    os << "const cprt_signature &cp::runtime::signatures::"
       << lowerCamel(operation.symbol) << " =\n    " << operation.symbol
       << "_signature;\n\n";
  }
  for (const Operation &operation : operations)
    if (!operation.takesFunction)
      writeEntry(operation, os);
  os << "\n#endif\n";
}

} // namespace cp::tblgen
