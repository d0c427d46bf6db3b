//===- ProgramFile.cpp - Programs of a file -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/ProgramFile.h"

#include "cp/Execution/FileSeal.h"
#include "cp/Execution/Processor.h"
#include "cp/Execution/RuntimeType.h"
#include "cp/Runtime/ProgramLayout.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <optional>

namespace fs = llvm::sys::fs;

namespace cp {

using Draws = llvm::StringMap<InitSpec>;

/// Its kinds are numbered as ours.
static InitSpec initOf(const cprt_draw &draw) {
  bool isKnown =
      draw.kind >= CPRT_DRAW_ZEROS && draw.kind <= CPRT_DRAW_DOCUMENTS;
  return {isKnown ? InitSpec::Kind(draw.kind) : InitSpec::Kind::Unknown,
          draw.scale,
          draw.low,
          draw.high,
          draw.floor,
          draw.count};
}
static_assert(int(InitSpec::Kind::Zeros) == CPRT_DRAW_ZEROS &&
              int(InitSpec::Kind::DtBias) == CPRT_DRAW_DT_BIAS &&
              int(InitSpec::Kind::Documents) == CPRT_DRAW_DOCUMENTS);

static llvm::Expected<TensorSpec> specOf(const cprt_program &program,
                                         const cprt_program_tensor &tensor,
                                         const Draws &draws) {
  TensorSpec spec;
  spec.name = tensor.name;
  std::optional<DType> dtype = fromRuntimeType(tensor.dtype);
  std::optional<Layout> layout;
  if (dtype && tensor.rank >= 0)
    layout = layoutOf(program, tensor);
  if (!layout)
    return llvm::createStringError("'" + spec.name +
                                   "' has a type or cuts that make no sense");
  spec.dtype = *dtype;
  spec.layout = std::move(*layout);
  spec.shape.assign(tensor.sizes, tensor.sizes + tensor.rank);
  spec.isParam = tensor.role == CPRT_ROLE_PARAMETER;
  spec.isState = tensor.role == CPRT_ROLE_STATE;
  spec.isAccumulator = tensor.role == CPRT_ROLE_ACCUMULATOR;
  spec.isResidual = tensor.role == CPRT_ROLE_RESIDUAL;
  if (tensor.updates)
    spec.updates = tensor.updates;
  if (auto draw = draws.find(spec.name); draw != draws.end())
    spec.init = draw->second;
  if (!tensorBytes(spec.shape, spec.dtype))
    return llvm::createStringError("'" + spec.name +
                                   "' has more bytes than 64 bits can count");
  return spec;
}

static llvm::Error readSpecs(const cprt_program &program,
                             llvm::ArrayRef<cprt_program_tensor> tensors,
                             const Draws &draws,
                             std::vector<TensorSpec> &specs) {
  for (const cprt_program_tensor &tensor : tensors) {
    llvm::Expected<TensorSpec> spec = specOf(program, tensor, draws);
    if (!spec)
      return spec.takeError();
    specs.push_back(std::move(*spec));
  }
  return llvm::Error::success();
}

static llvm::Expected<const cprt_program *> programIn(void *library) {
  auto *function =
      reinterpret_cast<cprt_program_fn *>(dlsym(library, "cp_program"));
  if (!function)
    return llvm::createStringError(
        "is no program: it exports no function cp_program; give a file that "
        "cp-compile has written");
  const cprt_program *program = function();
  char message[512] = "";
  if (cprt_program_check(program, message, sizeof message) != CPRT_OK)
    return llvm::createStringError(message);
  return program;
}

/// What the tables of the file say. Fields behind the interface of the file are
/// not there.
static llvm::Error read(const cprt_program &program,
                        const std::shared_ptr<void> &library,
                        ProgramFile &file) {
  Draws draws;
  if (program.abi_minor >= 2) {
    for (const cprt_draw &draw :
         llvm::ArrayRef(program.draws, size_t(program.num_draws)))
      draws[draw.argument] = initOf(draw);
    llvm::Expected<llvm::json::Value> origin =
        llvm::json::parse(program.origin);
    if (!origin)
      return origin.takeError();
    if (const llvm::json::Object *object = origin->getAsObject())
      file.origin = *object;
  }
  for (const cprt_entry &entry :
       llvm::ArrayRef(program.entries, size_t(program.num_entries))) {
    ProgramDescription description;
    description.mesh = meshOf(program);
    description.arenaBytes = entry.arena_bytes;
    description.hash = program.hash;
    for (Stage stage : {Stage::Global, Stage::WithLayouts, Stage::Local})
      if (file.origin.getString("stage") == stageName(stage))
        description.stage = stage;
    if (llvm::Error error =
            readSpecs(program, {entry.arguments, size_t(entry.num_arguments)},
                      draws, description.arguments))
      return error;
    if (llvm::Error error =
            readSpecs(program, {entry.results, size_t(entry.num_results)},
                      draws, description.results))
      return error;
    file.programs.push_back(
        std::make_unique<Program>(std::move(description), entry.run, library));
  }
  return llvm::Error::success();
}

/// Where a library ends by its own word: its sections are told of at its end.
/// Nothing of what is none.
static std::optional<uint64_t> endOf(llvm::StringRef bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  return header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
}

/// A file that was cut off or damaged would be mapped all the same, and end the
/// process that reads it. Older programs, and such as somebody has stripped,
/// have no seal.
static llvm::Error checkWhole(const std::string &path) {
  fs::file_status status;
  if (std::error_code code = fs::status(path, status))
    return llvm::createStringError(path + ": " + code.message());
  if (!fs::is_regular_file(status))
    return llvm::createStringError(path + ": expected a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  // Who loads it says why it cannot be read.
  std::optional<uint64_t> end;
  if (file)
    end = endOf((*file)->getBuffer());
  if (!end)
    return llvm::Error::success();
  llvm::StringRef bytes = (*file)->getBuffer();
  if (*end > bytes.size())
    return llvm::createStringError(
        path + ": has " + std::to_string(bytes.size()) +
        " bytes, but what it says of itself ends at " + std::to_string(*end) +
        "; copy it anew");
  if (*end == bytes.size() || isSealed(bytes))
    return llvm::Error::success();
  return llvm::createStringError(path +
                                 ": is damaged: its bytes are not those that "
                                 "cp-compile has written; copy it anew");
}

llvm::Expected<ProgramFile> ProgramFile::load(const std::string &path) {
  if (llvm::Error error = checkWhole(path))
    return error;
  // A name without a folder would be looked for among the system's libraries.
  llvm::SmallString<128> real;
  if (std::error_code code = fs::real_path(path, real))
    return llvm::createStringError(path + ": " + code.message());
  std::shared_ptr<void> library(dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL),
                                [](void *opened) {
                                  if (opened)
                                    dlclose(opened);
                                });
  if (!library)
    return llvm::createStringError(
        path + ": cannot be loaded: " + dlerror() +
        "; give a file that cp-compile has written for this processor");
  auto failed = [&](llvm::Error error) {
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  };
  llvm::Expected<const cprt_program *> program = programIn(library.get());
  if (!program)
    return failed(program.takeError());
  ProgramFile file;
  if (llvm::Error error = read(**program, library, file))
    return failed(std::move(error));
  if (const llvm::json::Object *processor = file.origin.getObject("processor"))
    if (llvm::Error error =
            checkProcessor(processor->getString("cpu").value_or(""),
                           processor->getString("features").value_or("")))
      return failed(std::move(error));
  return file;
}

} // namespace cp
