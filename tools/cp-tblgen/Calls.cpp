//===- Calls.cpp - What ops write into their calls ---------- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace cp::tblgen {

/// Whether an op's accessor of the attribute's name gives its value. What is of
/// a mesh has to be found in it.
static bool isAsNamed(const Attribute &attribute) {
  return attribute.kind != "axes" && attribute.kind != "order" &&
         attribute.kind != "orders";
}

static StringRef writerOf(const Attribute &attribute) {
  return StringSwitch<StringRef>(attribute.kind)
      .Case("flag", "flag")
      .Cases({"integer", "signed", "order"}, "integer")
      .Case("real", "number")
      .Default("array");
}

/// `key` tells attributes of one name from each other, and valueOf of an op
/// that has another accessor from that of all others.
static void writeKeys(ArrayRef<Operation> operations, raw_ostream &os) {
  StringSet<> known;
  for (const Operation &operation : operations)
    for (const Attribute &attribute : operation.attributes) {
      if (!known.insert(attribute.name).second)
        continue;
      os << "namespace key {\nstruct " << attribute.name << " {};\n}\n";
      if (isAsNamed(attribute))
        os << "template <typename Op> auto valueOf(Op op, key::"
           << attribute.name << ") {\n  return op.get"
           << upperCamel(attribute.name) << "();\n}\n";
    }
}

static bool mayLackInputs(const Operation &operation) {
  return any_of(operation.ins,
                [](const Tensor &tensor) { return tensor.isOptional; });
}

static void writeWriter(const Operation &operation, raw_ostream &os) {
  std::string name = upperCamel(operation.symbol);
  os << "/// A call of cprt_" << operation.symbol << ".\n"
     << "template <typename Op> void write" << name
     << "(Op op, ::cp::RuntimeCall &call) {\n";
  if (mayLackInputs(operation)) {
    os << "  call.setInputs({";
    for (const Tensor &tensor : operation.ins)
      os << (&tensor == &operation.ins.front() ? "" : ", ") << "op.get"
         << upperCamel(tensor.name) << "()";
    os << "});\n";
  }
  for (const Attribute &attribute : operation.attributes)
    os << "  call." << writerOf(attribute) << "(\"" << attribute.name
       << "\", valueOf(op, key::" << attribute.name << "()));\n";
  os << "}\n";
}

void writeCalls(const RecordKeeper &records, raw_ostream &os) {
  writeHead("What ops write into their calls", os);
  std::vector<Operation> operations = operationsOf(records);
  os << "#ifdef GET_KEYS\n#undef GET_KEYS\n\n";
  writeKeys(operations, os);
  os << "\n#endif\n\n#ifdef GET_WRITERS\n#undef GET_WRITERS\n\n";
  for (const Operation &operation : operations)
    writeWriter(operation, os);
  os << "\n#endif\n\n#ifdef GET_METHODS\n#undef GET_METHODS\n\n";
  for (const Operation &operation : operations)
    if (operation.hasMethod &&
        (!operation.attributes.empty() || mayLackInputs(operation))) {
      std::string name = upperCamel(operation.symbol);
      os << "void " << name << "Op::getRuntimeCall(RuntimeCall &call) {\n"
         << "  write" << name << "(*this, call);\n}\n";
    }
  os << "\n#endif\n";
}

} // namespace cp::tblgen
