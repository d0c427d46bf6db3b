//===- Artifact.cpp - A compiled program as a file ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code is LLVM's, an object for the entries and one for the kernels of each
// program. The tables are C, which the compiler that links them reads anyway:
// they are laid out by cprt_program.h itself.
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Artifact.h"

#include "LocalProgram.h"
#include "MachineCode.h"

#include "cp/Runtime/cprt_program.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

namespace cp {

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

namespace {
/// Writes C. Every array has a name of its own, by a number.
class TableWriter {
public:
  explicit TableWriter(raw_ostream &os) : os(os) {}
  void write(ArrayRef<LoweredProgram> programs);

private:
  std::string next(StringRef stem) {
    return (stem + "_" + Twine(numNames++)).str();
  }
  std::string numbers(ArrayRef<int64_t> values);
  std::string cuts(const Layout &layout);
  std::string tensors(ArrayRef<TensorSpec> specs);
  void writeMesh(const Mesh &mesh);

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

std::string TableWriter::cuts(const Layout &layout) {
  std::string name = next("cuts"), text;
  raw_string_ostream list(text);
  for (auto [dim, cuts] : enumerate(layout.dims))
    for (const Cut &cut : cuts)
      list << "{" << dim << ", " << cut.axis << ", " << orderWord(cut) << ", "
           << cut.unit << "}, ";
  if (text.empty())
    return "0";
  os << "static const cprt_cut " << name << "[] = {" << text << "};\n";
  return name;
}

static int64_t numCuts(const Layout &layout) {
  int64_t count = 0;
  for (const auto &cuts : layout.dims)
    count += int64_t(cuts.size());
  return count;
}

std::string TableWriter::tensors(ArrayRef<TensorSpec> specs) {
  std::string name = next("tensors"), text;
  raw_string_ostream list(text);
  for (const TensorSpec &spec : specs) {
    const Layout &layout = spec.layout;
    std::vector<int64_t> local = localShape(spec.layout, spec.shape, 0);
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

static std::string entrySymbol(size_t number) {
  return "cp_entry_" + std::to_string(number);
}

void TableWriter::write(ArrayRef<LoweredProgram> programs) {
  os << "#include \"cp/Runtime/cprt_program.h\"\n"
        "#include <string.h>\n";
  const Mesh &mesh = programs.front().local.mesh;
  writeMesh(mesh);
  std::string entries;
  raw_string_ostream list(entries);
  uint64_t hash = 0;
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
    hash = 31 * hash + hashOf(*program.local.module);
  }
  os << "static const cprt_entry entries[] = {\n"
     << entries << "};\n"
     << "static const cprt_program program = {" << CPRT_PROGRAM_ABI_MAJOR
     << ", " << CPRT_PROGRAM_ABI_MINOR << ", " << mesh.axes.size()
     << ", axis_names, axis_sizes, " << hash << "u, " << programs.size()
     << ", entries};\n"
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

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

namespace {
/// A folder that is gone with its files in the end.
class Workshop {
public:
  static Expected<Workshop> open() {
    Workshop made;
    if (std::error_code code =
            sys::fs::createUniqueDirectory("cp-artifact", made.folder))
      return createStringError(code, "no folder for temporary files: " +
                                         code.message());
    return made;
  }
  Workshop(Workshop &&other) : folder(other.folder) { other.folder.clear(); }
  ~Workshop() {
    if (!folder.empty())
      sys::fs::remove_directories(folder);
  }
  /// Writes a file, and notes it as one to link if it is `linked`.
  Error write(const Twine &name, StringRef text, bool linked = true) {
    SmallString<128> path = folder;
    sys::path::append(path, name);
    std::error_code code;
    raw_fd_ostream os(path, code);
    if (!code) {
      os << text;
      os.close();
      code = os.error();
      os.clear_error();
    }
    if (code)
      return createStringError(code, path + ": " + code.message());
    if (linked)
      files.push_back(path.str().str());
    return Error::success();
  }
  std::string pathOf(StringRef name) const {
    SmallString<128> path = folder;
    sys::path::append(path, name);
    return path.str().str();
  }
  ArrayRef<std::string> linkedFiles() const { return files; }

private:
  Workshop() = default;
  SmallString<128> folder;
  std::vector<std::string> files;
};
} // namespace

/// A target machine of another one would only warn.
static bool isKnown(const Triple &triple, StringRef cpu) {
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return false;
  std::unique_ptr<MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  return info && info->isCPUStringValid(cpu);
}

static Expected<orc::JITTargetMachineBuilder>
targetOf(const ArtifactOptions &options) {
  Expected<orc::JITTargetMachineBuilder> builder =
      orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setRelocationModel(Reloc::PIC_);
  bool isX86 = builder->getTargetTriple().isX86();
  std::string cpu = options.targetCpu;
  if (cpu.empty() && isX86)
    cpu = "x86-64-v3";
  if (cpu == "native")
    return builder;
  builder->setCPU(cpu);
  builder->getFeatures() = SubtargetFeatures();
  if (!cpu.empty() && !isKnown(builder->getTargetTriple(), cpu))
    return createStringError("LLVM knows no processor '" + cpu + "' of " +
                             builder->getTargetTriple().str() +
                             "; see llc -mcpu=help");
  return builder;
}

/// Gives symbols names that no other program of the file has, and none that
/// other files see.
static void hideSymbols(Module &module, StringRef entry, size_t number) {
  for (GlobalValue &value : module.global_values()) {
    if (value.isDeclaration() || value.hasLocalLinkage())
      continue;
    value.setVisibility(GlobalValue::HiddenVisibility);
    if (value.getName() == entry)
      value.setName(entrySymbol(number));
    else
      value.setName(value.getName() + "." + Twine(number));
  }
}

static Error addObjects(const LoweredProgram &program, size_t number,
                        const orc::JITTargetMachineBuilder &target,
                        Workshop &workshop) {
  LLVMContext context;
  std::unique_ptr<Module> main =
      translateToLLVM(*program.local.module, context);
  if (!main || !main->getFunction(program.name))
    return createStringError("the program could not be translated to LLVM IR");
  hideSymbols(*main, program.name, number);
  std::unique_ptr<Module> kernels = splitKernels(*main, entrySymbol(number));
  struct {
    StringRef name;
    CodeGenOptLevel level;
    Module &module;
  } const parts[] = {{"kernels", CodeGenOptLevel::Aggressive, *kernels},
                     {"entry", CodeGenOptLevel::None, *main}};
  for (const auto &part : parts) {
    Expected<std::unique_ptr<MemoryBuffer>> object =
        objectOf(target, part.level, part.module);
    if (!object)
      return object.takeError();
    if (Error error = workshop.write(part.name + "." + Twine(number) + ".o",
                                     (*object)->getBuffer()))
      return error;
  }
  return Error::success();
}

/// The headers that the tables are written against: this program has them in
/// it, so that they need not be installed where it runs.
static constexpr struct {
  const char *name, *text;
} headers[] = {
#include "ArtifactHeaders.inc"
};

static Error writeHeaders(Workshop &workshop) {
  SmallString<128> folder(workshop.pathOf("cp/Runtime"));
  if (std::error_code code = sys::fs::create_directories(folder))
    return createStringError(code, folder + ": " + code.message());
  for (const auto &header : headers)
    if (Error error = workshop.write(header.name, header.text,
                                     /*linked=*/false))
      return error;
  return Error::success();
}

static Error link(const Workshop &workshop, const std::string &path) {
  const char *named = std::getenv("CC");
  std::string compiler = named && *named ? named : "cc";
  ErrorOr<std::string> found = sys::findProgramByName(compiler);
  if (!found)
    return createStringError("there is no C compiler '" + compiler +
                             "' to link the program with; install one, or name "
                             "one by CC");
  std::string said = workshop.pathOf("said"), made = workshop.pathOf("made.so");
  std::vector<StringRef> arguments = {compiler,
                                      "-shared",
                                      "-fPIC",
                                      "-O1",
                                      "-fvisibility=hidden",
                                      "-ffp-contract=off",
                                      "-I",
                                      StringRef()};
  std::string include = workshop.pathOf(".");
  arguments.back() = include;
  for (const std::string &file : workshop.linkedFiles())
    arguments.push_back(file);
  for (StringRef each : {"-lm", "-Wl,--as-needed", "-o"})
    arguments.push_back(each);
  arguments.push_back(made);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(said),
                                          StringRef(said)};
  std::string message;
  int status = sys::ExecuteAndWait(*found, arguments, std::nullopt, redirects,
                                   0, 0, &message);
  if (status != 0) {
    auto text = MemoryBuffer::getFile(said);
    return createStringError(compiler +
                             " could not link the program: " + message +
                             (text ? (*text)->getBuffer().str() : ""));
  }
  // A copy, since folders for temporary files are often on another device; and
  // then a rename, so that whoever has the old one loaded keeps it.
  std::string partial = path + ".partial";
  std::error_code code = sys::fs::copy_file(made, partial);
  if (!code)
    code = sys::fs::rename(partial, path);
  if (code) {
    sys::fs::remove(partial);
    return createStringError(code, path + ": " + code.message());
  }
  return Error::success();
}

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

Error writeArtifact(mlir::ModuleOp module, const CompileOptions &options,
                    const ArtifactOptions &artifact, const std::string &path) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Expected<orc::JITTargetMachineBuilder> target = targetOf(artifact);
  if (!target)
    return target.takeError();
  auto programs = lowerPrograms(module, options);
  if (!programs)
    return programs.takeError();
  if (Error error = checkTypes(*programs))
    return error;
  Expected<Workshop> workshop = Workshop::open();
  if (!workshop)
    return workshop.takeError();
  for (auto [number, program] : enumerate(*programs))
    if (Error error = addObjects(program, number, *target, *workshop))
      return error;
  if (Error error = writeHeaders(*workshop))
    return error;
  std::string tables;
  raw_string_ostream os(tables);
  TableWriter(os).write(*programs);
  os << roundings;
  if (Error error = workshop->write("tables.c", tables))
    return error;
  return link(*workshop, path);
}

} // namespace cp
