//===- KernelReaders.cpp - What kernels read of calls ----- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"

using namespace llvm;

namespace cp::tblgen {
namespace {

/// Writes the structure of one operation's call, and its reader.
class Writer {
public:
  Writer(const Operation &operation, raw_ostream &os)
      : operation(operation), os(os), name(upperCamel(operation.symbol)) {}

  void writeAttributes() {
    os << "/// The attributes of cprt_" << operation.symbol << ".\n"
       << "struct " << name << "Attributes {\n";
    for (const Attribute &attribute : operation.attributes)
      os << "  " << typeOf(attribute) << " " << lowerCamel(attribute.name)
         << ";\n";
    os << "};\n";
  }

  /// Reads the attributes, and checks how many tensors there are.
  void writeAttributeReader() {
    os << "static void read(Arguments &in, " << name << "Attributes &read) {\n"
       << "  in.expectAttributes(" << operation.attributes.size() << ");\n";
    for (const Attribute &attribute : operation.attributes) {
      bool isNumber = attribute.kind == "integer" || attribute.kind == "signed";
      os << "  read." << lowerCamel(attribute.name) << " = in."
         << (isNumber ? "integer" : attribute.kind) << "(\"" << attribute.name
         << "\"";
      if (attribute.kind == "integer")
        os << ", " << attribute.least;
      else if (isNumber)
        os << ", INT64_MIN";
      os << ");\n";
    }
    // One that any number may stand for is there or not: kernels know of no
    // more.
    auto isVariadic = [](const Tensor &tensor) { return tensor.isVariadic; };
    size_t outs = operation.outs.size();
    os << "  in.expectBuffers(" << operation.requiredIns() << ", "
       << operation.ins.size() << ", "
       << outs - llvm::count_if(operation.outs, isVariadic) << ", " << outs
       << ");\n}\n";
  }

  void writeCall() {
    os << "/// A call of cprt_" << operation.symbol
       << ": its sizes, and views of its tensors.\n"
       << "template <typename T> struct " << name << "Call : " << name
       << "Attributes {\n  using Acc = AccumulatorOf<T>;\n";
    std::vector<std::string> sizes = sizeNames();
    if (!sizes.empty())
      os << "  int64_t " << join(sizes) << ";\n";
    for (const Tensor &tensor : operation.ins)
      os << "  View<const " << elementOf(tensor) << ", " << tensor.sizes.size()
         << "> " << lowerCamel(tensor.name) << ";\n";
    for (const Tensor &tensor : operation.outs)
      os << "  View<" << elementOf(tensor) << ", " << tensor.sizes.size()
         << "> " << lowerCamel(tensor.name) << ";\n";
    os << "};\n";
  }

  void writeCallReader() {
    os << "/// Keeps what does not fit in `in`.\n"
       << "template <typename T>\nstatic void read(Arguments &in, " << name
       << "Call<T> &read) {\n  using Acc = typename " << name
       << "Call<T>::Acc;\n"
       << "  cp::kernels::read(in, static_cast<" << name
       << "Attributes &>(read));\n  if (in.error())\n    return;\n";
    for (const std::string &size : sizeNames())
      os << "  Dim " << dim(size) << " = {\"" << size << "\"};\n";
    for (const Tensor &tensor : operation.ins)
      writeTensor(tensor, /*isInput=*/true);
    for (const Tensor &tensor : operation.outs)
      writeTensor(tensor, /*isInput=*/false);
    for (const std::string &size : sizeNames())
      os << "  read." << size << " = " << dim(size) << ".size;\n";
    os << "}\n";
  }

private:
  static StringRef typeOf(const Attribute &attribute) {
    return StringSwitch<StringRef>(attribute.kind)
        .Case("flag", "bool")
        .Case("real", "double")
        .Default("int64_t");
  }
  static StringRef elementOf(const Tensor &tensor) {
    return StringSwitch<StringRef>(tensor.type)
        .Case("T", "T")
        .Case("sum", "Acc")
        .Case("i64", "int64_t")
        .Case("f32", "float")
        .Case("f64", "double")
        .Default("BFloat16");
  }
  static std::string join(ArrayRef<std::string> names) {
    std::string text;
    for (const std::string &each : names)
      text += (text.empty() ? "" : ", ") + each;
    return text;
  }
  static bool isDerived(StringRef size) {
    return size.contains('-') || size.contains('(');
  }
  /// The variable that has a size.
  static std::string dim(StringRef size) { return "dim_" + size.str(); }

  std::vector<std::string> sizeNames() const {
    std::vector<std::string> names;
    for (const auto *tensors : {&operation.ins, &operation.outs})
      for (const Tensor &tensor : *tensors)
        for (StringRef size : tensor.sizes) {
          size.consume_back("?");
          if (!isDerived(size) && !is_contained(names, size))
            names.push_back(size.str());
        }
    return names;
  }

  /// Defines the variable of "w-1" or "ceil(l/chunk_size)" by the tensor that
  /// has the size it goes by, and names it.
  std::string derive(StringRef size) {
    auto [at, isNew] = derived.try_emplace(size.str(), "");
    if (!isNew)
      return at->second;
    at->second = "derived_" + std::to_string(derived.size());
    StringRef text = size;
    std::string of, value, shown;
    if (text.consume_front("ceil(")) {
      auto [numerator, attribute] = text.drop_back().split('/');
      of = dim(numerator);
      value = "ceilDiv(" + of + ".size, read." + lowerCamel(attribute) + ")";
      shown = ("ceil(" + numerator + " / " + attribute + ")").str();
    } else {
      auto [whole, less] = text.split('-');
      of = dim(whole);
      value = of + ".size - " + less.str();
      shown = (whole + " - " + less).str();
      os << "  in.expectAtLeast(" << of << ", " << less << ");\n";
    }
    os << "  if (in.error())\n    return;\n"
       << "  Dim " << at->second << " = {\"" << shown << "\", " << value << ", "
       << of << ".setBy};\n";
    return at->second;
  }

  void writeTensor(const Tensor &tensor, bool isInput) {
    std::vector<std::string> dims;
    int lacking = -1;
    for (StringRef size : tensor.sizes) {
      if (size.consume_back("?"))
        lacking = static_cast<int>(dims.size());
      dims.push_back("&" + (isDerived(size) ? derive(size) : dim(size)));
    }
    os << "  read." << lowerCamel(tensor.name) << " = in."
       << (tensor.isOptional ? "optionalInput"
           : isInput         ? "input"
                             : "output")
       << "<" << elementOf(tensor) << ">(\"" << tensor.name << "\", {"
       << join(dims) << "}";
    if (lacking >= 0)
      os << ", " << lacking;
    os << ");\n";
  }

  const Operation &operation;
  raw_ostream &os;
  std::string name;
  std::map<std::string, std::string> derived;
};

} // namespace

void writeKernelReaders(const RecordKeeper &records, raw_ostream &os) {
  writeHead("What kernels read of their calls", os);
  std::vector<Operation> operations = operationsOf(records);
  erase_if(operations, [](const Operation &o) { return !o.isKernel; });
  os << "#ifdef GET_CALLS\n#undef GET_CALLS\n\n";
  for (const Operation &operation : operations) {
    Writer writer(operation, os);
    writer.writeAttributes();
    if (operation.hasFixedRanks())
      writer.writeCall();
  }
  os << "\n#endif\n";
  // A file has the readers that it asks for.
  for (const Operation &operation : operations) {
    std::string macro = "GET_READER_" + operation.symbol;
    os << "\n#ifdef " << macro << "\n#undef " << macro << "\n\n";
    Writer writer(operation, os);
    writer.writeAttributeReader();
    if (operation.hasFixedRanks())
      writer.writeCallReader();
    os << "\n#endif\n";
  }
}

} // namespace cp::tblgen
