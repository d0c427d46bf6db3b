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

#include "cp/Compile/Artifact.h"
#include "cp/Compile/Origin.h"
#include "cp/Execution/FileSeal.h"
#include "cp/Execution/Processor.h"

#include "ArtifactHeader.h"
#include "ArtifactTables.h"
#include "MachineCode.h"

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
// The code
//===----------------------------------------------------------------------===//

static Error writeText(const Twine &path, StringRef text) {
  std::error_code code;
  raw_fd_ostream os(path.str(), code);
  if (!code) {
    os << text;
    os.close();
    code = os.error();
    os.clear_error();
  }
  return code ? createStringError(code, path + ": " + code.message())
              : Error::success();
}

/// The file is as it was where it cannot be written. Links are followed.
static Error replaceText(std::string path, StringRef text) {
  SmallString<128> target;
  if (!sys::fs::real_path(path, target))
    path = target.str().str();
  std::string partial = path + ".partial";
  Error error = writeText(partial, text);
  if (!error)
    if (std::error_code code = sys::fs::rename(partial, path))
      error = createStringError(code, path + ": " + code.message());
  if (error) {
    // It may be that there is none.
    [[maybe_unused]] std::error_code left = sys::fs::remove(partial);
  }
  return error;
}

namespace {
/// A folder that is gone with its files in the end.
class Workshop {
public:
  static Expected<Workshop> open() {
    Workshop made;
    if (std::error_code code =
            sys::fs::createUniqueDirectory("cp-artifact", made.folder)) {
      SmallString<128> place;
      sys::path::system_temp_directory(/*erasedOnReboot=*/true, place);
      return createStringError(code, "no folder for temporary files in '" +
                                         place + "': " + code.message() +
                                         "; set TMPDIR to one that is there");
    }
    return made;
  }
  Workshop(Workshop &&other) : folder(other.folder) { other.folder.clear(); }
  ~Workshop() {
    if (folder.empty())
      return;
    [[maybe_unused]] std::error_code left = sys::fs::remove_directories(folder);
  }
  /// Writes a file, and notes it as one to link if it is `linked`.
  Error write(const Twine &name, StringRef text, bool linked = true) {
    SmallString<128> path = folder;
    sys::path::append(path, name);
    if (Error error = writeText(path, text))
      return error;
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
  if (!info || !info->isCPUStringValid(cpu))
    return false;
  // LLVM ends the process where it should make code of 64 bits for one of 32.
  info.reset(target->createMCSubtargetInfo(triple, cpu, ""));
  return !triple.isX86() || info->checkFeatures("+64bit");
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

/// What the code asks of the processor that it runs on: those features that
/// whoever loads it can find out about too.
static json::Object processorOf(const orc::JITTargetMachineBuilder &builder) {
  const Triple &triple = builder.getTargetTriple();
  std::string message, features = builder.getFeatures().getString();
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<MCSubtargetInfo> info(
      target ? target->createMCSubtargetInfo(triple, builder.getCPU(), features)
             : nullptr);
  std::vector<std::string> used;
  if (info)
    for (const std::string &feature : knownFeatures())
      if (info->checkFeatures("+" + feature))
        used.push_back(feature);
  return json::Object{{"cpu", builder.getCPU()}, {"features", join(used, ",")}};
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

/// Behind the bytes that a file has.
static std::error_code addSeal(const std::string &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return file.getError();
  std::string seal = sealOf((*file)->getBuffer());
  std::error_code code;
  raw_fd_ostream os(path, code, sys::fs::OF_Append);
  if (code)
    return code;
  os << seal;
  os.close();
  code = os.error();
  os.clear_error();
  return code;
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
    code = addSeal(partial);
  if (!code)
    code = sys::fs::rename(partial, path);
  if (code) {
    [[maybe_unused]] std::error_code left = sys::fs::remove(partial);
    return createStringError(code, path + ": " + code.message());
  }
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
  Expected<ArtifactTables> tables = artifactTables(
      *programs, originOf(programs->front().local.stage, options),
      processorOf(*target));
  if (!tables)
    return tables.takeError();
  Expected<Workshop> workshop = Workshop::open();
  if (!workshop)
    return workshop.takeError();
  for (auto [number, program] : enumerate(*programs))
    if (Error error = addObjects(program, number, *target, *workshop))
      return error;
  if (Error error = writeHeaders(*workshop))
    return error;
  if (Error error = workshop->write("tables.c", tables->text))
    return error;
  // Before the program: a header that is newer knows that it is.
  if (!artifact.header.empty())
    if (Error error = replaceText(
            artifact.header,
            artifactHeader(*programs, sys::path::stem(artifact.header),
                           tables->hash)))
      return error;
  return link(*workshop, path);
}

} // namespace cp
