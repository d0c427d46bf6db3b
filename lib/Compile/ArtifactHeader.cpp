//===- ArtifactHeader.cpp - A program's C header --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactHeader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace cp {

namespace {
class HeaderWriter {
public:
  HeaderWriter(raw_ostream &os, StringRef stem);
  void write(ArrayRef<LoweredProgram> programs, uint64_t hash);

private:
  void writeBuffers(const LoweredProgram &program);
  void writeEntry(const LoweredProgram &program, size_t number, uint64_t hash);

  raw_ostream &os;
  /// What names begin with, and macros.
  std::string stem, macro;
};
} // namespace

/// With '_' for what has no place in a name of C, nor in a comment.
static std::string identifier(StringRef text) {
  std::string name = text.str();
  for (char &each : name)
    if (!isAlnum(each))
      each = '_';
  return name;
}

HeaderWriter::HeaderWriter(raw_ostream &os, StringRef text)
    : os(os), stem(identifier(text)) {
  if (stem.empty() || isDigit(stem.front()))
    stem = "cp_" + stem;
  macro = StringRef(stem).upper();
}

/// With '?' for what may not stand in a comment.
static std::string inComment(StringRef text) {
  std::string shown = text.str();
  for (char &each : shown)
    if (!isPrint(each) || each == '*' || each == '\\')
      each = '?';
  return shown;
}

static StringRef roleOf(const TensorSpec &spec) {
  if (spec.isParam)
    return "; a parameter";
  if (spec.isState)
    return "; of the optimizer";
  if (spec.isAccumulator)
    return "; a sum over micro-batches";
  return spec.isResidual ? "; a residual" : "";
}

/// `"x": F32 [8, 12], here [8, 3]: dim 1 by cp zigzag`.
static void describe(const TensorSpec &spec, raw_ostream &os) {
  const Layout &layout = spec.layout;
  os << '"' << inComment(spec.name) << "\": " << dtypeName(spec.dtype) << " "
     << shapeText(spec.shape);
  if (!isWhole(spec))
    os << ", here " << shapeText(localShape(layout, spec.shape));
  const char *separator = ": ";
  for (auto [dim, cuts] : enumerate(layout.dims))
    for (const Cut &cut : cuts) {
      os << separator << "dim " << dim << " by "
         << identifier(layout.mesh.axes[cut.axis].name) << " "
         << orderText(cut);
      separator = ", ";
    }
  for (int axis : layout.partial) {
    os << separator << "a term along "
       << identifier(layout.mesh.axes[axis].name);
    separator = ", ";
  }
  os << roleOf(spec);
}

void HeaderWriter::writeBuffers(const LoweredProgram &program) {
  std::string prefix =
      macro + "_" + StringRef(identifier(program.name)).upper();
  os << "\n/* Places in the buffers of \"" << identifier(program.name)
     << "\": of each tensor a rank has its part. */\nenum {\n";
  StringSet<> taken;
  int64_t place = 0;
  auto writePlace = [&](const TensorSpec &spec, bool isUpdated) {
    std::string name = prefix + "_" + StringRef(identifier(spec.name)).upper();
    std::string unique = name;
    for (int count = 2; !taken.insert(unique).second; ++count)
      unique = name + "_" + std::to_string(count);
    os << "  /* ";
    describe(spec, os);
    os << (isUpdated ? "; gets its new value */\n  " : " */\n  ") << unique
       << " = " << place++ << ",\n";
  };
  const Signature &signature = program.local.signature;
  StringSet<> updated;
  for (const TensorSpec &result : signature.results)
    if (!result.updates.empty())
      updated.insert(result.updates);
  for (const TensorSpec &argument : signature.arguments)
    writePlace(argument, updated.contains(argument.name));
  for (const TensorSpec &result : signature.results)
    if (result.updates.empty())
      writePlace(result, false);
  std::string count = prefix + "_NUM_BUFFERS";
  while (taken.contains(count))
    count += "_";
  os << "  " << count << " = " << place << "\n};\n";
}

void HeaderWriter::writeEntry(const LoweredProgram &program, size_t number,
                              uint64_t hash) {
  std::string name = identifier(program.name);
  os << "\n/* The entry \"" << name
     << "\"; NULL for a program that is not that of this header. */\n"
     << "static inline const cprt_entry *" << stem << "_" << name
     << "(const cprt_program *program) {\n"
     << "  return program->hash == " << hash << "u ? &program->entries["
     << number << "] : NULL;\n}\n";
}

void HeaderWriter::write(ArrayRef<LoweredProgram> programs, uint64_t hash) {
  const Mesh &mesh = programs.front().local.mesh;
  os << "/* Made by cp-compile: the buffers of a program. A file that is "
        "compiled anew\n   has a header of its own. */\n"
     << "#ifndef " << macro << "_H\n#define " << macro << "_H\n\n"
     << "#include \"cp/Runtime/cprt_program.h\"\n\n#include <stddef.h>\n\n"
     << "enum { " << macro << "_NUM_RANKS = " << mesh.numRanks() << " };\n";
  for (auto [number, program] : enumerate(programs)) {
    writeBuffers(program);
    writeEntry(program, number, hash);
  }
  os << "\n#endif /* " << macro << "_H */\n";
}

std::string artifactHeader(ArrayRef<LoweredProgram> programs, StringRef stem,
                           uint64_t hash) {
  std::string text;
  raw_string_ostream os(text);
  HeaderWriter(os, stem).write(programs, hash);
  return text;
}

} // namespace cp
