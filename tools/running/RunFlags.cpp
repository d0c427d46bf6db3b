//===- RunFlags.cpp - What a run is asked for -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFlags.h"

#include "Launcher.h"
#include "Process.h"
#include "Settings.h"
#include "StartWatch.h"
#include "Timeline.h"
#include "cp/Runtime/Processors.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cmath>

namespace cl = llvm::cl;

namespace cp {

void defineWeights(RunFlags &o, cl::OptionCategory &category) {
  static FileFlag weights(
      "weights", cl::desc(".safetensors or its index (default: drawn)"),
      cl::location(o.weights), cl::cat(category));
  static Flag<uint64_t> seed("seed", cl::desc("Of what is drawn (default: 0)"),
                             cl::location(o.seed), cl::init(0),
                             cl::cat(category));
  static FileFlag save("save-weights", cl::desc("Write the weights in use"),
                       cl::location(o.saveWeights), cl::cat(category));
}

void defineData(RunFlags &o, cl::OptionCategory &category) {
  static FileFlag inputs(
      "inputs",
      cl::desc(
          ".safetensors by name; for a single input .npy, .ids (token ids "
          "as text, between white space or commas) or .txt (its first bytes "
          "are the token ids); default: drawn"),
      cl::location(o.inputs), cl::cat(category));
  static FileFlag rows(
      "rows",
      cl::desc(
          ".safetensors with the rows of a batch in place of --inputs, as "
          "cprt_batch.h takes them: padded to the model's length, packed "
          "into its rows, with lists of their documents; --outputs are "
          "those of the rows. Or documents, each a file of token ids (.npy, "
          ".ids, or a text's bytes), with commas between: they fill the "
          "model's rows in turn"),
      cl::location(o.rows), cl::cat(category));
  defineWeights(o, category);
  static Flag<bool> ignoreUnused(
      "ignore-unused-weights",
      cl::desc("List the tensors of a file that the model does not take, and "
               "go on without them"),
      cl::location(o.ignoreUnusedWeights), cl::cat(category));
  static FileFlag outputs("outputs",
                          cl::desc("Write the results (.safetensors)"),
                          cl::location(o.outputs), cl::cat(category));
  static FileFlag labels(
      "labels",
      cl::desc("What comes next, as .npy or .ids, -100 for nothing (default: "
               "'labels' of --inputs, which are taken as they are, or the "
               "inputs, each row one further)"),
      cl::location(o.labels), cl::cat(category));
  static FileFlag report("report", cl::desc("Write the report (JSON)"),
                         cl::location(o.report), cl::cat(category));
}

void defineTransport(RunFlags &flags, cl::OptionCategory &category) {
  static WordFlag transport(
      "transport",
      cl::desc("Each process of a job is a rank, and this carries what they "
               "exchange, e.g. openmpi under mpirun (default: threads, ranks "
               "are those of this process)"),
      cl::location(flags.transport), cl::cat(category));
}

void defineWorld(RunFlags &o, cl::OptionCategory &category) {
  static WordFlag kernels(
      "kernels", cl::desc("fast or reference (default: fast)"),
      cl::location(o.kernels), cl::init("fast"), cl::cat(category));
  static Flag<int64_t> threads(
      "rank-threads",
      cl::desc("Threads of each rank's kernels (default: the processors shared "
               "between the ranks)"),
      cl::location(o.threads), cl::cat(category));
  static Flag<int64_t> memory(
      "max-memory",
      cl::desc("Bytes that a run may take before it is refused (default: what "
               "the machine has available)"),
      cl::location(o.maxMemory), cl::init(0), cl::cat(category));
  static Flag<int64_t> deadline(
      "deadline-ms", cl::desc("How long a collective waits (default: 60000)"),
      cl::location(o.deadlineMs), cl::cat(category));
  defineTransport(o, category);
  static WordFlag device(
      "device",
      cl::desc("Where ranks have their tensors, e.g. cuda (default: in the "
               "host's memory); ranks of one process share one"),
      cl::location(o.device), cl::cat(category));
  static Flag<bool> fallback(
      "device-fallback",
      cl::desc("With --device: the host computes what it has no kernel for, on "
               "copies"),
      cl::location(o.deviceFallback), cl::cat(category));
  static Flag<bool> graphs(
      "device-graphs",
      cl::desc(
          "With --device: the second step is recorded (CUDA graphs); those "
          "behind it start at once what lies between two exchanges"),
      cl::location(o.deviceGraphs), cl::cat(category));
  static FileFlag timeline(
      "timeline",
      cl::desc("Write the last collectives of each rank, also of a run that "
               "fails, as trace events (JSON, for ui.perfetto.dev); each "
               "process of a job to a file of its rank"),
      cl::location(o.timeline), cl::cat(category));
  static Flag<bool> quiet("quiet", cl::desc("No table, no progress"),
                          cl::location(o.quiet), cl::cat(category));
}

void defineRunning(RunFlags &o, cl::OptionCategory &category) {
  defineWorld(o, category);
  static Flag<int> repeats("repeat", cl::desc("Number of steps (default: 1)"),
                           cl::location(o.repeats), cl::init(1),
                           cl::cat(category));
  static Flag<int64_t> pieces(
      "test-piece-bytes", cl::desc("What travels of a tensor at one time"),
      cl::location(o.pieceBytes), cl::init(o.pieceBytes), cl::Hidden,
      cl::cat(category));
  static Flag<int64_t> failing(
      "test-fail-rank", cl::desc("This rank fails before it starts"),
      cl::location(o.failRank), cl::init(-1), cl::Hidden, cl::cat(category));
  static Flag<int64_t> stalling(
      "test-stall-rank", cl::desc("This rank never starts"),
      cl::location(o.stallRank), cl::init(-1), cl::Hidden, cl::cat(category));
}

std::optional<llvm::StringRef>
firstGiven(llvm::ArrayRef<llvm::StringRef> flags) {
  for (llvm::StringRef flag : flags)
    if (auto found = cl::getRegisteredOptions().find(flag);
        found != cl::getRegisteredOptions().end() &&
        found->second->getNumOccurrences())
      return flag;
  return std::nullopt;
}

llvm::Error checkRunFlags(const RunFlags &flags) {
  if (flags.kernels != "fast" && flags.kernels != "reference")
    return llvm::createStringError(
        "--kernels must be fast or reference, but is "
        "'" +
        flags.kernels + "'");
  if (flags.repeats < 1)
    return llvm::createStringError("--repeat must be at least 1, but is " +
                                   std::to_string(flags.repeats));
  if (flags.tolerance &&
      !(*flags.tolerance >= 0 && std::isfinite(*flags.tolerance)))
    return llvm::createStringError(
        "--tolerance must be at least 0, and finite");
  if (flags.maxMemory < 0)
    return llvm::createStringError("--max-memory must be at least 0, but is " +
                                   std::to_string(flags.maxMemory));
  return llvm::Error::success();
}

llvm::Error refuseGiven(llvm::StringRef instead,
                        llvm::ArrayRef<llvm::StringRef> flags) {
  if (auto flag = firstGiven(flags))
    return llvm::createStringError(instead + ", so it takes no --" + *flag +
                                   "; give that to a run without it");
  return llvm::Error::success();
}

llvm::Error checkGraphs(const RunFlags &flags) {
  if (!flags.deviceGraphs || flags.repeats > 2)
    return llvm::Error::success();
  return llvm::createStringError("--device-graphs records the second step and "
                                 "starts it from the third on, "
                                 "but --repeat is " +
                                 std::to_string(flags.repeats) +
                                 "; give 3 or more, or leave it out");
}

llvm::Error joinJob(RunFlags &flags, const char *program) {
  if (flags.transport.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> path = Transport::find(flags.transport, program);
  if (!path)
    return path.takeError();
  {
    StartWatch watch(flags.tool, flags.deadlineMs);
    if (llvm::Error error = Transport::load(*path).moveInto(flags.job))
      return error;
  }
  flags.quiet |= !flags.speaks();
  return checkLauncher(flags);
}

llvm::Error openDevice(RunFlags &flags, const char *program) {
  if (flags.device.empty()) {
    for (auto [isGiven, name] :
         {std::pair(flags.deviceFallback, "--device-fallback"),
          std::pair(flags.deviceGraphs, "--device-graphs")})
      if (isGiven)
        return llvm::createStringError(
            std::string(name) + " says what a device does; give --device too");
    return llvm::Error::success();
  }
  if (firstGiven({"kernels"}) && !flags.deviceFallback)
    return llvm::createStringError("--kernels chooses those of the host, and a "
                                   "device has its own; leave one of --kernels "
                                   "and --device out");
  llvm::Expected<std::string> path = Device::find(flags.device, program);
  if (!path)
    return path.takeError();
  if (llvm::Error error = Device::load(*path).moveInto(flags.loadedDevice))
    return error;
  if (flags.deviceGraphs && !flags.loadedDevice->get().begin_recording)
    return llvm::createStringError("the device '" + flags.device +
                                   "' records nothing; leave --device-graphs "
                                   "out");
  return llvm::Error::success();
}

void decline(const RunFlags &flags, const std::string &why) {
  if (flags.job)
    flags.job->decline(why, flags.deadlineMs);
}

int fail(const RunFlags &flags, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  // At once: the ranks of a job write to one terminal.
  std::string line = flags.tool + (": error: " + text + "\n");
  llvm::errs() << line;
  decline(flags, text);
  return exitStatus(flags.tool.c_str(), 1);
}

llvm::Expected<RunOptions> runOptions(const RunFlags &flags, int64_t ranks) {
  RunOptions run;
  if (flags.job)
    if (llvm::Error error = settingsOf(flags).moveInto(run.settings))
      return error;
  run.kernels =
      flags.kernels == "reference" ? CPRT_KERNELS_REFERENCE : CPRT_KERNELS_FAST;
  run.deadlineMs = flags.deadlineMs;
  run.transport = flags.job;
  run.device = flags.loadedDevice;
  run.deviceFallback = flags.deviceFallback;
  run.deviceGraphs = flags.deviceGraphs;
  // As the runtime shares them.
  Processors processors = Processors::ofThisProcess();
  int64_t share = flags.job ? processors.shareInJob(flags.job->localSize())
                            : processors.shareInProcess(ranks);
  run.threads = flags.threads ? flags.threads : share;
  run.repeats = flags.repeats;
  run.pieceBytes = flags.pieceBytes;
  keepTimeline(flags, run);
  if (flags.failRank >= 0 || flags.stallRank >= 0)
    run.beforeRank = [flags](int64_t rank, cprt_context *context) {
      if (rank == flags.failRank)
        cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                          "made to fail by --test-fail-rank");
      return rank != flags.failRank && rank != flags.stallRank;
    };
  return run;
}

MemoryUse needHere(const MemoryNeed &need, const RunFlags &flags) {
  return flags.job ? need.rank : need.process;
}

llvm::Error checkMemory(const MemoryUse &needed, const RunFlags &flags) {
  std::optional<int64_t> available = flags.maxMemory;
  if (!flags.maxMemory)
    available = availableMemory();
  return available ? checkFits(needed, *available) : llvm::Error::success();
}

} // namespace cp
