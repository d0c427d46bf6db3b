//===- Saving.cpp - The files that a run writes ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Saving.h"

#include "Inputs.h"
#include "Timeline.h"
#include "Training.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

namespace fs = llvm::sys::fs;

namespace cp {

std::string targetOf(const std::string &file) {
  llvm::SmallString<128> target;
  if (!fs::is_symlink_file(file) || fs::real_path(file, target))
    return file;
  return target.str().str();
}

namespace {

/// A file that is there, or a name in a folder.
struct Identity {
  fs::UniqueID id;
  std::string name;

  bool operator==(const Identity &other) const {
    return id == other.id && name == other.name;
  }
};

std::string folderOf(llvm::StringRef file) {
  llvm::StringRef folder = llvm::sys::path::parent_path(file);
  return folder.empty() ? "." : folder.str();
}

std::optional<Identity> identityOf(llvm::StringRef file) {
  Identity identity;
  if (!fs::getUniqueID(file, identity.id))
    return identity;
  if (fs::getUniqueID(folderOf(file), identity.id))
    return std::nullopt;
  identity.name = llvm::sys::path::filename(file).str();
  return identity;
}

/// The shards that an index of safetensors names. What is wrong with the index
/// is said when it is read.
std::vector<std::string> shardsOf(const std::string &index) {
  std::vector<std::string> shards;
  fs::file_status status;
  if (!llvm::StringRef(index).ends_with(".index.json") ||
      fs::status(index, status) || !fs::is_regular_file(status))
    return shards;
  auto text = llvm::MemoryBuffer::getFile(index);
  if (!text)
    return shards;
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse((*text)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return shards;
  }
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Object *map =
      object ? object->getObject("weight_map") : nullptr;
  llvm::StringSet<> seen;
  if (map)
    for (const auto &[tensor, shard] : *map)
      if (std::optional<llvm::StringRef> name = shard.getAsString();
          name && seen.insert(*name).second)
        shards.push_back(folderOf(index) + "/" + name->str());
  llvm::sort(shards);
  return shards;
}

std::string textOf(const NamedFile &named) {
  return named.flag + "='" + named.file + "'";
}

} // namespace

/// Adds a file, if there is one.
static void note(std::vector<NamedFile> &inputs, const char *flag,
                 const std::string &file) {
  if (!file.empty())
    inputs.push_back({flag, file});
}

std::vector<NamedFile> inputsOfRanks(const RunFlags &options) {
  std::vector<NamedFile> inputs;
  note(inputs, "--inputs", options.inputs);
  for (llvm::StringRef file : llvm::split(options.rows, ','))
    note(inputs, "--rows", file.str());
  note(inputs, "--weights", options.weights);
  for (const std::string &shard : shardsOf(options.weights))
    note(inputs, "a shard of --weights", shard);
  note(inputs, "--labels", options.labels);
  return inputs;
}

std::vector<NamedFile> inputsOf(const RunFlags &options) {
  std::vector<NamedFile> inputs = inputsOfRanks(options);
  note(inputs, "the model", options.model == "-" ? "" : options.model);
  note(inputs, "--reference", options.reference);
  note(inputs, "--check-against", options.checkAgainst);
  return inputs;
}

namespace {

llvm::Error refuse(const NamedFile &output, const llvm::Twine &why) {
  return llvm::createStringError(textOf(output) + ": " + why);
}

/// That a file can be made in its folder.
llvm::Error checkFolder(const NamedFile &output) {
  fs::file_status status;
  std::string target = targetOf(output.file), folder = folderOf(target);
  if (std::error_code code = fs::status(folder, status))
    return refuse(output, "its folder '" + folder + "': " + code.message());
  if (!fs::is_directory(status))
    return refuse(output, "'" + folder + "' is no folder");
  llvm::SmallString<128> probe;
  int descriptor;
  if (std::error_code code = fs::createUniqueFile(output.file + ".tmp-%%%%%%%%",
                                                  descriptor, probe))
    return refuse(output, "nothing can be written there: " + code.message());
  fs::file_t handle = fs::convertFDToNativeFile(descriptor);
  std::error_code closed = fs::closeFile(handle);
  if (std::error_code code = fs::remove(probe))
    closed = code;
  return closed ? refuse(output, closed.message()) : llvm::Error::success();
}

/// That this can be written, whatever else is.
llvm::Error checkTarget(const NamedFile &output, bool takesDevices) {
  fs::file_status status;
  if (fs::status(output.file, status)) {
    if (fs::is_symlink_file(output.file))
      return refuse(output, "is a link to nothing; name the file itself");
    return checkFolder(output);
  }
  if (fs::is_regular_file(status)) {
    if (takesDevices && fs::access(output.file, fs::AccessMode::Write))
      return refuse(output, "may not be written");
    return takesDevices ? llvm::Error::success() : checkFolder(output);
  }
  if (takesDevices && !fs::is_directory(status))
    return llvm::Error::success();
  return refuse(output,
                llvm::Twine("expected a regular file or none, got ") +
                    (fs::is_directory(status) ? "a directory"
                                              : "a pipe, socket or device"));
}

/// Devices may be named twice, and for input and output.
bool isDevice(llvm::StringRef file) {
  fs::file_status status;
  return !fs::status(file, status) && !fs::is_regular_file(status);
}

llvm::Error checkUnique(llvm::ArrayRef<TensorSpec> specs, const NamedFile &file,
                        bool paramsOnly) {
  llvm::StringSet<> seen;
  for (const TensorSpec &spec : specs)
    if ((spec.isParam || !paramsOnly) && !seen.insert(spec.name).second)
      return refuse(file, "two tensors are named '" + spec.name +
                              "'; give them cp.name of their own");
  return llvm::Error::success();
}

} // namespace

llvm::Error checkFiles(llvm::ArrayRef<NamedFile> outputs,
                       std::vector<NamedFile> taken) {
  for (const NamedFile &output : outputs) {
    if (output.file.empty() || (output.takesDevices && output.file == "-"))
      continue;
    if (output.file == "-")
      return refuse(output, "a file of that name is not meant, and it does not "
                            "go to standard output; name a file");
    if (llvm::Error error = checkTarget(output, output.takesDevices))
      return error;
    if (isDevice(output.file))
      continue;
    std::optional<Identity> own = identityOf(output.file);
    for (const NamedFile &other : taken)
      if (own && !other.file.empty() && own == identityOf(other.file))
        return refuse(output, "is the same file as " + textOf(other) +
                                  "; write to another one");
    taken.push_back(output);
  }
  return llvm::Error::success();
}

llvm::Error checkOutputs(const RunFlags &options) {
  // Each process writes a timeline of its own.
  if (!options.speaks())
    return checkFiles({{"--timeline", timelineFile(options), true}}, {});
  return checkFiles({{"--save-weights", options.saveWeights},
                     {"--outputs", options.outputs},
                     {"--gradients", options.gradients},
                     {"--timeline", timelineFile(options), true},
                     {"--report", options.report, /*takesDevices=*/true}},
                    inputsOf(options));
}

llvm::Error checkNames(const RunFlags &options, const Program &program) {
  if (!options.saveWeights.empty())
    if (llvm::Error error = checkUnique(
            program.arguments(), {"--save-weights", options.saveWeights}, true))
      return error;
  for (const NamedFile &output : {NamedFile{"--gradients", options.gradients},
                                  NamedFile{"--outputs", options.outputs}})
    if (!output.file.empty())
      if (llvm::Error error = checkUnique(program.results(), output, false))
        return error;
  return llvm::Error::success();
}

llvm::Error saveTensors(const RunFlags &options, const Program &program,
                        const Inputs &inputs,
                        llvm::ArrayRef<HostTensor> results) {
  llvm::Error errors = llvm::Error::success();
  if (!options.saveWeights.empty())
    errors = llvm::joinErrors(
        std::move(errors),
        writeSafetensors(targetOf(options.saveWeights),
                         viewsOf(program.arguments(), inputs.tensors, true),
                         {{"format", "pt"}}));
  if (!options.gradients.empty())
    errors = llvm::joinErrors(
        std::move(errors),
        writeSafetensors(targetOf(options.gradients),
                         gradientsOf(program.results(), results),
                         {{"format", "pt"}}));
  std::vector<HostTensor> trimmed;
  for (auto [spec, result] : llvm::zip_equal(program.results(), results))
    if (inputs.rows && !options.outputs.empty())
      trimmed.push_back(isGradient(spec) ? result : inputs.rows->trim(result));
  if (!options.outputs.empty())
    errors = llvm::joinErrors(
        std::move(errors),
        writeSafetensors(
            targetOf(options.outputs),
            viewsOf(program.results(),
                    inputs.rows ? llvm::ArrayRef<HostTensor>(trimmed) : results,
                    false)));
  return errors;
}

llvm::Error writeJson(const std::string &path, const llvm::json::Value &value) {
  std::error_code code;
  llvm::ToolOutputFile file(orStandardOutput(path), code, fs::OF_Text);
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  file.os() << value << "\n";
  file.os().flush();
  code = file.os().error();
  // What is left to the stream's destructor would end the process.
  file.os().clear_error();
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  file.keep();
  return llvm::Error::success();
}

} // namespace cp
