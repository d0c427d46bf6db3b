//===- ArtifactTables.cpp - What a program says of itself -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactTables.h"

#include "cp/Runtime/cprt_program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace cp {

namespace {
/// Writes C. Every array has a name of its own, by a number.
class TableWriter {
public:
  explicit TableWriter(raw_ostream &os) : os(os) {}
  void write(ArrayRef<LoweredProgram> programs, StringRef origin);

private:
  std::string next(StringRef stem) {
    return (stem + "_" + Twine(numNames++)).str();
  }
  std::string numbers(ArrayRef<int64_t> values);
  std::string cuts(const Layout &layout);
  std::string tensors(ArrayRef<TensorSpec> specs);
  void writeMesh(const Mesh &mesh);
  size_t writeDraws(ArrayRef<LoweredProgram> programs);

  raw_ostream &os;
  int64_t numNames = 0;
};
} // namespace

/// As a C string, or a null pointer.
static std::string quoted(StringRef text) {
  std::string literal;
  raw_string_ostream os(literal);
  os << '"';
  // Octal, which ends after three digits whatever follows.
  for (char each : text) {
    auto byte = static_cast<unsigned char>(each);
    if (isPrint(each) && each != '"' && each != '\\' && each != '?')
      os << each;
    else
      os << '\\' << char('0' + (byte >> 6)) << char('0' + (byte >> 3 & 7))
         << char('0' + (byte & 7));
  }
  os << '"';
  return literal;
}

static const char *dtypeWord(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "CPRT_F32";
  case DType::F64:
    return "CPRT_F64";
  case DType::BF16:
    return "CPRT_BF16";
  case DType::I32:
    return "CPRT_I32";
  case DType::I64:
    return "CPRT_I64";
  default:
    return nullptr;
  }
}

static const char *roleWord(const TensorSpec &spec) {
  if (spec.isParam)
    return "CPRT_ROLE_PARAMETER";
  if (spec.isState)
    return "CPRT_ROLE_STATE";
  if (spec.isAccumulator)
    return "CPRT_ROLE_ACCUMULATOR";
  return spec.isResidual ? "CPRT_ROLE_RESIDUAL" : "CPRT_ROLE_DATA";
}

/// The name of an array; a null pointer for none.
std::string TableWriter::numbers(ArrayRef<int64_t> values) {
  if (values.empty())
    return "0";
  std::string name = next("numbers");
  os << "static const int64_t " << name << "[] = {";
  interleaveComma(values, os);
  os << "};\n";
  return name;
}

/// The units of the entries that a cut has in a table.
static std::vector<int64_t> unitsOf(const Cut &cut) {
  return isBySizes(cut) ? cut.sizes : std::vector<int64_t>{cut.unit};
}

std::string TableWriter::cuts(const Layout &layout) {
  std::string name = next("cuts"), text;
  raw_string_ostream list(text);
  for (auto [dim, cuts] : enumerate(layout.dims))
    for (const Cut &cut : cuts)
      for (int64_t unit : unitsOf(cut))
        list << "{" << dim << ", " << cut.axis << ", " << orderWord(cut) << ", "
             << unit << "}, ";
  for (int axis : layout.partial)
    list << "{CPRT_CUT_TERMS, " << axis << ", 0, 1}, ";
  if (text.empty())
    return "0";
  os << "static const cprt_cut " << name << "[] = {" << text << "};\n";
  return name;
}

static int64_t numCuts(const Layout &layout) {
  auto count = int64_t(layout.partial.size());
  for (const auto &cuts : layout.dims)
    for (const Cut &cut : cuts)
      count += int64_t(unitsOf(cut).size());
  return count;
}

std::string TableWriter::tensors(ArrayRef<TensorSpec> specs) {
  std::string name = next("tensors"), text;
  raw_string_ostream list(text);
  for (const TensorSpec &spec : specs) {
    const Layout &layout = spec.layout;
    std::vector<int64_t> local = localShape(spec.layout, spec.shape);
    list << "  {" << quoted(spec.name) << ", " << dtypeWord(spec.dtype) << ", "
         << roleWord(spec) << ", " << spec.shape.size() << ", "
         << numCuts(layout) << ", " << numbers(spec.shape) << ", "
         << numbers(local) << ", " << cuts(layout) << ", "
         << (spec.updates.empty() ? "0" : quoted(spec.updates)) << "},\n";
  }
  if (specs.empty())
    return "0";
  os << "static const cprt_program_tensor " << name << "[] = {\n"
     << text << "};\n";
  return name;
}

void TableWriter::writeMesh(const Mesh &mesh) {
  os << "static const char *const axis_names[] = {";
  for (const Mesh::Axis &axis : mesh.axes)
    os << quoted(axis.name) << ", ";
  os << "0};\nstatic const int64_t axis_sizes[] = {";
  for (const Mesh::Axis &axis : mesh.axes)
    os << axis.size << ", ";
  os << "0};\n";
}

/// The C of a number, to the bit.
static std::string exactly(double value) {
  std::string text;
  raw_string_ostream(text) << format("%a", value);
  return text;
}

/// How arguments are drawn, each name once; returns how many.
size_t TableWriter::writeDraws(ArrayRef<LoweredProgram> programs) {
  // In the order of the kinds of InitSpec.
  static constexpr StringLiteral kinds[] = {
      "ZEROS",       "ONES",    "NORMAL", "UNIFORM",  "LOG_ARANGE",
      "LOG_UNIFORM", "DT_BIAS", "IDS",    "DOCUMENTS"};
  StringSet<> seen;
  os << "static const cprt_draw draws[] = {\n";
  for (const LoweredProgram &program : programs)
    for (const TensorSpec &spec : program.local.signature.arguments) {
      if (!spec.init || spec.init->kind == InitSpec::Kind::Unknown ||
          !seen.insert(spec.name).second)
        continue;
      const InitSpec &init = *spec.init;
      os << "  {" << quoted(spec.name) << ", CPRT_DRAW_"
         << kinds[size_t(init.kind)] << ", " << exactly(init.scale) << ", "
         << exactly(init.low) << ", " << exactly(init.high) << ", "
         << exactly(init.floor) << ", " << init.count << "},\n";
    }
  os << "  {0}};\n";
  return seen.size();
}

std::string entrySymbol(size_t number) {
  return "cp_entry_" + std::to_string(number);
}

void TableWriter::write(ArrayRef<LoweredProgram> programs, StringRef origin) {
  os << "#include \"cp/Runtime/cprt_program.h\"\n"
        "#include <string.h>\n";
  const Mesh &mesh = programs.front().local.mesh;
  writeMesh(mesh);
  std::string entries;
  raw_string_ostream list(entries);
  for (auto [number, program] : enumerate(programs)) {
    std::string symbol = entrySymbol(number);
    os << "void " << symbol
       << "(cprt_context *, cprt_stream *, void *const *);\n";
    const Signature &signature = program.local.signature;
    std::string arguments = tensors(signature.arguments);
    std::string results = tensors(signature.results);
    list << "  {" << quoted(program.name) << ", " << symbol << ", "
         << signature.arguments.size() << ", " << arguments << ", "
         << signature.results.size() << ", " << results << ", "
         << program.arenaBytes << "},\n";
  }
  size_t numDraws = writeDraws(programs);
  os << "static const cprt_entry entries[] = {\n"
     << entries << "};\n"
     << "static const cprt_program program = {" << CPRT_PROGRAM_ABI_MAJOR
     << ", " << CPRT_PROGRAM_ABI_MINOR << ", " << mesh.axes.size()
     << ", axis_names, axis_sizes, CP_HASH, " << programs.size()
     << ", entries, " << numDraws << ", draws, " << quoted(origin) << "};\n"
     << "__attribute__((visibility(\"default\")))\n"
        "const cprt_program *cp_program(void) { return &program; }\n";
}

/// What code calls to round to bf16 where the processor has no instruction for
/// it; compiler libraries have it since GCC 13 only. A float is returned whose
/// low half holds the bits, as on x86-64 and AArch64. As cp::roundToBF16.
static constexpr StringLiteral roundings = R"(
static float low_half(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static uint32_t rounded(uint32_t bits) {
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
float __truncsfbf2(float value) {
  uint32_t bits = bits_of(value);
  return low_half(value != value ? bits >> 16 | 0x40 : rounded(bits));
}
float __truncdfbf2(double value) {
  float near = (float)value;
  uint32_t bits = bits_of(near);
  if (value != value)
    return low_half(bits >> 16 | 0x40);
  double distance = (double)near < 0 ? -(double)near : (double)near;
  double size = value < 0 ? -value : value;
  if (distance != size) {
    if (distance > size)
      --bits;
    bits |= 1;
  }
  return low_half(rounded(bits));
}
)";

static Error checkTypes(ArrayRef<LoweredProgram> programs) {
  for (const LoweredProgram &program : programs)
    for (const auto *list :
         {&program.local.signature.arguments, &program.local.signature.results})
      for (const TensorSpec &spec : *list)
        if (!dtypeWord(spec.dtype))
          return createStringError("'" + spec.name + "' is " +
                                   dtypeName(spec.dtype) +
                                   ", which the runtime has not");
  return Error::success();
}

static std::string tablesOf(ArrayRef<LoweredProgram> programs,
                            json::Object origin) {
  std::string text, tables;
  raw_string_ostream(text) << json::Value(std::move(origin));
  raw_string_ostream os(tables);
  TableWriter(os).write(programs, text);
  return tables;
}

Expected<ArtifactTables> artifactTables(ArrayRef<LoweredProgram> programs,
                                        json::Object origin,
                                        json::Object processor) {
  if (Error error = checkTypes(programs))
    return error;
  // Code does not have the names of arguments, and tables have. One program for
  // two processors stays one.
  uint64_t hash =
      xxh3_64bits(arrayRefFromStringRef(tablesOf(programs, origin)));
  for (const LoweredProgram &program : programs)
    hash = 31 * hash + hashOf(*program.local.module);
  origin["processor"] = std::move(processor);
  return ArtifactTables{"#define CP_HASH " + std::to_string(hash) + "u\n" +
                            tablesOf(programs, std::move(origin)) +
                            roundings.str(),
                        hash};
}

} // namespace cp
