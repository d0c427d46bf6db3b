//===- CReaders.cpp - C readers of calls -------------------- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"

using namespace llvm;

namespace cp::tblgen {

static void writeStructure(const Operation &operation, raw_ostream &os) {
  os << "/** A call of cprt_" << operation.symbol << ".";
  for (const std::string &line : operation.description)
    os << "\n *" << (line.empty() ? "" : " ") << line;
  os << "\n */\ntypedef struct " << operation.symbol << "_call {\n";
  for (const auto *tensors : {&operation.ins, &operation.outs})
    for (const Tensor &tensor : *tensors)
      os << "  cprt_buffer " << tensor.name << "; /* " << tensor.text()
         << " */\n";
  for (const Attribute &attribute : operation.attributes)
    if (attribute.isArray())
      os << "  const int64_t *" << attribute.name << ";\n  int64_t "
         << attribute.name << "_size;\n";
    else
      os << (attribute.kind == "real" ? "  double " : "  int64_t ")
         << attribute.name << ";\n";
  os << "} " << operation.symbol << "_call;\n\n";
}

static void writeReader(const Operation &operation, raw_ostream &os) {
  size_t tensors = operation.ins.size() + operation.outs.size();
  size_t attributes = operation.attributes.size();
  os << "/** Reads a call; 0, and the context has failed, when it is of "
        "another "
        "form. */\nstatic inline int "
     << operation.symbol
     << "_read(cprt_context *context, const int64_t *desc,\n"
        "    void *const *buffers, "
     << operation.symbol << "_call *call) {\n";
  writeSignature(operation, operation.symbol, os);
  os << "  cprt_buffer tensors[" << tensors + 1 << "];\n"
     << "  const int64_t *words[" << attributes + 1 << "];\n"
     << "  if (!cprt_read_call(context, &" << operation.symbol
     << "_signature, desc, buffers,\n                      tensors, words))\n"
        "    return 0;\n";
  size_t next = 0;
  for (const auto *list : {&operation.ins, &operation.outs})
    for (const Tensor &tensor : *list)
      os << "  call->" << tensor.name << " = tensors[" << next++ << "];\n";
  for (size_t i = 0; i < attributes; ++i) {
    const Attribute &attribute = operation.attributes[i];
    if (attribute.isArray())
      os << "  call->" << attribute.name << "_size = words[" << i
         << "][0];\n  call->" << attribute.name << " = words[" << i
         << "] + 1;\n";
    else if (attribute.kind == "real")
      os << "  memcpy(&call->" << attribute.name << ", words[" << i
         << "], sizeof call->" << attribute.name << ");\n";
    else
      os << "  call->" << attribute.name << " = words[" << i << "][0];\n";
  }
  os << "  return 1;\n}\n\n";
}

void writeCReaders(const RecordKeeper &records, raw_ostream &os) {
  writeHead("Readers of calls", os);
  os << "#include \"cp/Runtime/cprt.h\"\n#include <string.h>\n\n";
  for (const Operation &operation : operationsOf(records)) {
    for (const auto *list : {&operation.ins, &operation.outs})
      for (const Tensor &tensor : *list)
        if (tensor.isVariadic)
          PrintFatalError(operation.record->getLoc(),
                          "tensor '" + tensor.name + "' of operation '" +
                              operation.symbol +
                              "' stands for any number, of which no reader can "
                              "be made; use cprt_read_call");
    writeStructure(operation, os);
    writeReader(operation, os);
  }
}

} // namespace cp::tblgen
