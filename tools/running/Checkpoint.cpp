//===- Checkpoint.cpp - A run that can go on --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"

#include "Saving.h"
#include "WriteTensors.h"
#include "cp/Model/Weights.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

namespace fs = llvm::sys::fs;

namespace cp {

static std::string inFolder(llvm::StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

std::string weightsOfCheckpoint(const std::string &checkpoint) {
  return inFolder(checkpoint, "model.safetensors");
}
static std::string optimizerOf(const std::string &checkpoint) {
  return inFolder(checkpoint, "optimizer.safetensors");
}

std::vector<std::string> filesOfCheckpoint(const std::string &checkpoint) {
  return {weightsOfCheckpoint(checkpoint), optimizerOf(checkpoint)};
}

static llvm::Error failed(const std::string &path, std::error_code code) {
  return llvm::createStringError(path + ": " + code.message());
}

namespace {
using Steps = std::vector<int64_t>;
/// Of a folder of checkpoints: those that are there, those that were about to
/// be replaced, and those that are half written.
struct StepsThere {
  Steps whole, replaced, partial;
};
} // namespace

static llvm::Expected<StepsThere> stepsIn(const std::string &folder) {
  StepsThere there;
  auto note = [](llvm::StringRef name, llvm::StringRef prefix,
                 llvm::StringRef suffix, Steps &steps) {
    int64_t step = 0;
    if (name.consume_front(prefix) && name.consume_back(suffix) &&
        !name.getAsInteger(10, step))
      steps.push_back(step);
  };
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(it->path());
    note(name, "step-", "", there.whole);
    note(name, ".step-", ".old", there.replaced);
    note(name, ".step-", ".partial", there.partial);
  }
  if (code)
    return failed(folder, code);
  return there;
}

llvm::Error checkResumed(const std::string &folder) {
  if (folder.empty() || llvm::all_of(filesOfCheckpoint(folder), [](auto &file) {
        return fs::exists(file);
      }))
    return llvm::Error::success();
  std::string advice = "give a folder that --checkpoint has written";
  if (llvm::Expected<StepsThere> there = stepsIn(folder); !there)
    llvm::consumeError(there.takeError());
  else if (!there->whole.empty())
    advice =
        "its last one is " +
        inFolder(folder,
                 "step-" + std::to_string(*llvm::max_element(there->whole)));
  return llvm::createStringError("--resume='" + folder +
                                 "': is no checkpoint, which has "
                                 "model.safetensors and "
                                 "optimizer.safetensors; " +
                                 advice);
}

llvm::Error checkCheckpoints(const std::string &folder) {
  if (folder.empty())
    return llvm::Error::success();
  if (std::error_code code = fs::create_directories(folder))
    return llvm::createStringError("--checkpoint='" + folder +
                                   "': " + code.message());
  return checkFiles({{"--checkpoint", inFolder(folder, "step")}}, {});
}

/// An error for the last step there of another run that this one would replace.
static llvm::Error checkReplaced(const std::string &folder,
                                 const StepsThere &there,
                                 llvm::function_ref<bool(int64_t)> isDue) {
  int64_t last = 0;
  for (const Steps *steps : {&there.whole, &there.replaced})
    for (int64_t step : *steps)
      if (isDue(step))
        last = std::max(last, step);
  if (last == 0)
    return llvm::Error::success();
  std::string name = "step-" + std::to_string(last);
  return llvm::createStringError(
      "--checkpoint='" + folder + "': has " + name +
      " of another run, which this one would replace; give --resume=" +
      inFolder(folder, name) + " to go on with that, or another folder");
}

llvm::Expected<std::vector<int64_t>>
claimCheckpoints(const std::string &folder, const std::string &resumed,
                 llvm::function_ref<bool(int64_t)> isDue) {
  if (folder.empty())
    return Steps();
  llvm::Expected<StepsThere> there = stepsIn(folder);
  if (!there)
    return there.takeError();
  bool isOwn =
      !resumed.empty() && fs::equivalent(inFolder(resumed, ".."), folder);
  if (!isOwn)
    if (llvm::Error error = checkReplaced(folder, *there, isDue))
      return error;
  for (int64_t step : there->replaced) {
    std::string name = "step-" + std::to_string(step);
    std::string place = inFolder(folder, name),
                old = inFolder(folder, "." + name + ".old");
    if (std::error_code code = fs::exists(place) ? fs::remove_directories(old)
                                                 : fs::rename(old, place))
      return failed(old, code);
    there->whole.push_back(step);
  }
  for (int64_t step : there->partial) {
    std::string path =
        inFolder(folder, ".step-" + std::to_string(step) + ".partial");
    if (std::error_code code = fs::remove_directories(path))
      return failed(path, code);
  }
  return there->whole;
}

/// Under which the weights' file says of which step it is, which its tensors
/// cannot: transformers would not know more of these.
static constexpr llvm::StringRef stepKey = "cp_mlir.step";
/// Under which the optimizer's file has the digest of the last batch.
static constexpr llvm::StringRef batchKey = "cp_mlir.last_batch";

/// What a checkpoint says of the run, as tensors beside the optimizer's.
struct Number {
  const char *name;
  int64_t Progress::*field;
};
static constexpr Number progressFields[] = {{"steps", &Progress::steps},
                                            {"taken", &Progress::taken},
                                            {"batches", &Progress::batches}};

/// Makes an empty folder, in the place of what a run has left that was stopped
/// while it wrote.
static llvm::Error makeFolder(const std::string &folder) {
  if (std::error_code code = fs::remove_directories(folder))
    return failed(folder, code);
  if (std::error_code code = fs::create_directories(folder))
    return failed(folder, code);
  return llvm::Error::success();
}

llvm::Expected<std::vector<NotFiniteResult>>
writeWeights(const std::string &path, const Progress &progress,
             llvm::ArrayRef<TensorSpec> arguments, const Session &session,
             bool writes) {
  return writeArguments(
      path, arguments, [](const TensorSpec &spec) { return spec.isParam; },
      {{}, {{stepKey.str(), std::to_string(progress.steps)}}}, session, writes);
}

static llvm::Expected<std::vector<NotFiniteResult>>
writeOptimizer(const std::string &path, const Progress &progress,
               llvm::ArrayRef<TensorSpec> arguments, const Session &session,
               bool writes) {
  std::vector<HostTensor> numbers;
  for (const Number &number : progressFields)
    numbers.push_back(HostTensor::scalar(progress.*number.field));
  std::vector<TensorView> views;
  for (auto [number, tensor] : llvm::zip_equal(progressFields, numbers))
    views.push_back({number.name, DType::I64, {}, tensor.bytes});
  return writeArguments(
      path, arguments, [](const TensorSpec &spec) { return spec.isState; },
      {views, {{batchKey.str(), progress.lastBatch}}}, session, writes);
}

/// Both files, in a folder of their own; gives what of both is not finite.
/// Every process of a job hands over all that it has, whatever becomes of the
/// files of the one that `writes`.
static llvm::Expected<std::vector<NotFiniteResult>>
writeFiles(const std::string &folder, const Progress &progress,
           llvm::ArrayRef<TensorSpec> arguments, const Session &session,
           bool writes) {
  llvm::Error error = writes ? makeFolder(folder) : llvm::Error::success();
  bool goesOn = writes && !error;
  std::vector<NotFiniteResult> found, ofOptimizer;
  llvm::Error ofWeights = writeWeights(weightsOfCheckpoint(folder), progress,
                                       arguments, session, goesOn)
                              .moveInto(found);
  goesOn = goesOn && !ofWeights;
  error = llvm::joinErrors(std::move(error), std::move(ofWeights));
  error = llvm::joinErrors(
      std::move(error),
      writeOptimizer(optimizerOf(folder), progress, arguments, session, goesOn)
          .moveInto(ofOptimizer));
  if (error)
    return std::move(error);
  llvm::append_range(found, ofOptimizer);
  return found;
}

/// Puts `partial` in the place of `name` in `folder`, where there may be one to
/// replace.
static llvm::Error publish(const std::string &partial,
                           const std::string &folder, const std::string &name,
                           bool replaces) {
  std::string place = inFolder(folder, name);
  if (!replaces && fs::exists(place))
    return llvm::createStringError(
        place + ": another run has written it since this one began; give each "
                "a --checkpoint of its own");
  // A folder cannot be renamed onto one that has files, and to empty that first
  // would leave neither for a while.
  std::string old = inFolder(folder, "." + name + ".old");
  if (std::error_code code = fs::remove_directories(old))
    return failed(old, code);
  if (fs::exists(place))
    if (std::error_code code = fs::rename(place, old))
      return failed(place, code);
  if (std::error_code code = fs::rename(partial, place))
    return failed(place, code);
  if (std::error_code code = fs::remove_directories(old))
    return failed(old, code);
  return llvm::Error::success();
}

llvm::Expected<std::vector<NotFiniteResult>>
writeCheckpoint(const std::string &folder, const Progress &progress,
                llvm::ArrayRef<int64_t> found,
                llvm::ArrayRef<TensorSpec> arguments, const Session &session,
                bool writes) {
  std::string name = "step-" + std::to_string(progress.steps);
  std::string partial = inFolder(folder, "." + name + ".partial");
  auto notFinite = writeFiles(partial, progress, arguments, session, writes);
  if (!writes)
    return notFinite;
  llvm::Error error = notFinite
                          ? publish(partial, folder, name,
                                    llvm::is_contained(found, progress.steps))
                          : notFinite.takeError();
  if (!error)
    return notFinite;
  // What is half written would keep a full disk full.
  if (std::error_code code = fs::remove_directories(partial))
    error = llvm::joinErrors(std::move(error), failed(partial, code));
  return std::move(error);
}

static llvm::Expected<int64_t> readNumber(const TensorFile &file,
                                          llvm::StringRef name) {
  const TensorView *view = file.find(name);
  int64_t value = -1;
  if (view && view->dtype == DType::I64 && view->shape.empty())
    std::memcpy(&value, view->bytes.data(), sizeof(value));
  if (value >= 0)
    return value;
  return llvm::createStringError(file.label() + ": '" + name +
                                 "' must be a number of steps; give --resume a "
                                 "folder that --checkpoint has written");
}

/// Numbers that no run has written, and that places in the data would be made
/// of.
static llvm::Error checkProgress(const TensorFile &file,
                                 const Progress &progress) {
  constexpr int64_t most = int64_t(1) << 40;
  if (progress.taken <= progress.steps && progress.steps <= progress.batches &&
      progress.batches <= most)
    return llvm::Error::success();
  return llvm::createStringError(
      file.label() + ": says that " + std::to_string(progress.steps) +
      " 'steps' took " + std::to_string(progress.batches) +
      " 'batches', and that " + std::to_string(progress.taken) +
      " ('taken') of them changed weights, which no run does; give --resume a "
      "folder that --checkpoint has written");
}

/// Weights of another step, which someone has copied there, go wrong silently.
/// Weights that say nothing come from elsewhere, as of a merge.
static llvm::Error checkPair(const std::string &checkpoint,
                             const Progress &progress) {
  std::string weights = weightsOfCheckpoint(checkpoint);
  llvm::Expected<TensorFile> file = TensorFile::open(weights);
  if (!file)
    return file.takeError();
  std::optional<std::string> step = file->metadata(stepKey);
  if (!step || *step == std::to_string(progress.steps))
    return llvm::Error::success();
  return llvm::createStringError(
      weights + ": has the weights of step " + *step +
      ", but the optimizer's file beside it is of step " +
      std::to_string(progress.steps) +
      "; give --resume a folder as --checkpoint has written it");
}

llvm::Error checkFinite(llvm::StringRef label, TensorSpec spec,
                        const TensorView &view) {
  constexpr size_t piece = 1 << 24;
  spec.dtype = view.dtype;
  ResultTally tally;
  for (size_t begin = 0; begin < view.bytes.size(); begin += piece)
    tally.add(spec, int64_t(begin), view.bytes.slice(begin).take_front(piece));
  tally.end(spec);
  std::vector<NotFiniteResult> found = tally.numbers().notFinite;
  if (found.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      label + ": '" + spec.name + "' has " +
      std::to_string(found.front().found.count) + " of " +
      std::to_string(found.front().elements) +
      " elements that are not finite; give --resume an earlier checkpoint");
}

llvm::Expected<Progress> readOptimizer(const std::string &checkpoint,
                                       llvm::ArrayRef<TensorSpec> arguments,
                                       Session &session) {
  llvm::Expected<TensorFile> file = TensorFile::open(optimizerOf(checkpoint));
  if (!file)
    return file.takeError();
  Progress progress;
  for (const Number &number : progressFields)
    if (llvm::Error error =
            readNumber(*file, number.name).moveInto(progress.*number.field))
      return error;
  progress.lastBatch = file->metadata(batchKey).value_or("");
  if (llvm::Error error = checkProgress(*file, progress))
    return error;
  if (llvm::Error error = checkPair(checkpoint, progress))
    return error;
  size_t known = std::size(progressFields);
  for (const TensorSpec &spec : arguments) {
    if (!spec.isState)
      continue;
    ++known;
    llvm::Expected<TensorView> view =
        bindWeight(*file, spec.name, spec.shape, spec.dtype);
    if (!view)
      return llvm::createStringError(
          llvm::toString(view.takeError()) +
          "; give the --optimizer and the --dtype of that run");
    if (llvm::Error error = checkFinite(file->label(), spec, *view))
      return error;
    if (llvm::Error error =
            session.set(spec.name, *view, [&] { file->release(); }))
      return error;
    file->release();
  }
  if (file->tensors().size() != known)
    return llvm::createStringError(
        file->label() + ": has " +
        std::to_string(file->tensors().size() - std::size(progressFields)) +
        " tensors of an optimizer, but this one keeps " +
        std::to_string(known - std::size(progressFields)) +
        "; give the --optimizer and the --dtype of that run");
  return progress;
}

} // namespace cp
