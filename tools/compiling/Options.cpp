//===- Options.cpp - What the compiler is asked for -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Launcher.h"
#include "OptimizerFlags.h"

#include "llvm/ADT/StringExtras.h"

namespace cl = llvm::cl;

namespace cp {

void defineModule(Options &o, cl::OptionCategory &category) {
  static cl::opt<std::string, true> model(
      cl::Positional,
      cl::desc("<model.mlir: whole tensors, with layouts, or of one rank; - is "
               "standard input>"),
      cl::location(o.model), cl::init("-"), cl::cat(category));
  static WordFlag entry(
      "entry", cl::desc("The function to run (default: the only public one)"),
      cl::location(o.entry), cl::cat(category));
  defineSharding(o, category);
}

void defineSharding(Options &o, cl::OptionCategory &category) {
  static OwnFlag<int64_t> ranks(
      "ranks", cl::desc("Number of ranks"), cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.ranks = value; }));
  static WordFlag mesh("mesh", cl::desc("Axes, e.g. dp=2,cp=4"),
                       cl::location(o.mesh), cl::cat(category));
  static WordFlag axis(
      "axis",
      cl::desc("Axes that cut the sequence, major first, e.g. ring,u "
               "(default: cp)"),
      cl::location(o.sharding.axis), cl::init("cp"), cl::cat(category));
  static WordFlag order(
      "order",
      cl::desc("Token order: contiguous, zigzag, striped, striped:UNIT, "
               "zigzag_per_document or contiguous_per_document "
               "(default: contiguous)"),
      cl::location(o.sharding.order), cl::init("contiguous"),
      cl::cat(category));
  static WordFlag batch(
      "batch", cl::desc("Axes that cut the batch, major first, e.g. dp"),
      cl::location(o.sharding.batch), cl::cat(category));
  static WordFlag strategy(
      "strategy",
      cl::desc("hidden, sequence or 2d (default: sequence; none on one rank)"),
      cl::location(o.sharding.mixer), cl::init(""), cl::cat(category));
  static WordFlag attention(
      "attention", cl::desc("ulysses, ring, gather or 2d (default: ring)"),
      cl::location(o.sharding.attention), cl::init("ring"), cl::cat(category));
  static WordFlag tensorAxis(
      "tp", cl::desc("Axis of tensor parallelism (default: none)"),
      cl::location(o.sharding.tensorAxis), cl::cat(category));
  static Flag<bool> tensorRows(
      "tp-rows", cl::desc("Cut rows between projections over that axis too"),
      cl::location(o.sharding.tensorRows), cl::cat(category));
  static WordFlag params(
      "params",
      cl::desc("Axes that cut parameters where they are kept, and what "
               "goes with them, e.g. dp"),
      cl::location(o.sharding.params), cl::cat(category));
  static Flag<bool> replicate(
      "replicate-unused",
      cl::desc(
          "Let ranks along a mesh axis that cuts nothing do the same work"),
      cl::location(o.sharding.replicateUnused), cl::cat(category));
  static WordFlag scan(
      "scan",
      cl::desc("chain, gather, doubling, pipelined or transposed (default: "
               "chain)"),
      cl::location(o.sharding.scan), cl::init("chain"), cl::cat(category));
}

void defineLoss(Options &o, cl::OptionCategory &category) {
  static WordFlag loss(
      "loss",
      cl::desc("next_token: the mean cross-entropy of each next token in place "
               "of logits"),
      cl::location(o.loss), cl::cat(category));
  static cl::opt<std::string, /*ExternalStorage=*/false, FilledParser>
      gradients(
          "gradients", cl::ValueOptional,
          cl::desc(
              "The gradient of the loss by each weight; in cp-run with a name, "
              "write it (.safetensors)"),
          cl::cat(category), cl::callback([&o](const std::string &value) {
            o.withGradients = true;
            o.gradients = value;
          }));
  static Flag<DifferentiatedView> differentiate(
      "differentiate",
      cl::desc("Which program the gradients are derived on (default: "
               "global):"),
      cl::values(clEnumValN(DifferentiatedView::Global, "global",
                            "whole tensors, before they are cut"),
                 clEnumValN(DifferentiatedView::Local, "local",
                            "the program of one rank, with its exchanges")),
      cl::location(o.differentiate), cl::init(DifferentiatedView::Global),
      cl::cat(category));
}

void defineFile(Options &o, cl::OptionCategory &category) {
  static WordFlag targetCpu(
      "target-cpu",
      cl::desc("The least processor that a file is for, or native "
               "(default: x86-64-v3)"),
      cl::location(o.targetCpu), cl::cat(category));
  static cl::opt<std::string> vjp(
      "vjp", cl::ValueOptional,
      cl::desc("In a file: forward and backward as two entries, for who calls "
               "them apart; gradients are by the parameters, and by the "
               "arguments that are listed"),
      cl::cat(category), cl::callback([&o](const std::string &value) {
        o.vjp.emplace();
        llvm::SmallVector<llvm::StringRef> names;
        llvm::StringRef(value).split(names, ',', -1, /*KeepEmpty=*/false);
        for (llvm::StringRef name : names)
          o.vjp->push_back(name.str());
      }));
  static Flag<bool> partialGradients(
      "partial-gradients",
      cl::desc("With --vjp: leave the gradients of parameters as each rank's "
               "terms, for a caller who adds up all of a model at once"),
      cl::location(o.sharding.partialGradients), cl::cat(category));
  defineOverlap(o.overlap, category);
}

void noteSharding(Options &options) {
  for (const char *name :
       {"strategy", "attention", "order", "axis", "batch", "tp", "tp-rows",
        "params", "scan", "replicate-unused"})
    if (auto flag = cl::getRegisteredOptions().find(name);
        flag != cl::getRegisteredOptions().end() &&
        flag->second->getNumOccurrences() > 0)
      options.shardingFlags.push_back(std::string("--") + name);
}

llvm::Error joinAsRanks(Options &options, const char *program) {
  bool runsNothing =
      options.explain || options.traceTokens || !options.emit.empty();
  if (options.transport.empty() && !runsNothing)
    warnOfLauncher(options, "give --transport=" + transportOfLauncher());
  if (options.transport == "threads")
    options.transport.clear();
  if (options.transport.empty())
    return llvm::Error::success();
  if (runsNothing)
    return llvm::createStringError("--transport is for a run, and --explain, "
                                   "--trace-tokens and --emit run nothing; "
                                   "leave it out");
  if (options.model == "-")
    return llvm::createStringError(
        "--transport needs a model that each process "
        "can read, and standard input goes to one; "
        "name a file");
  if (options.check == Check::Each)
    return llvm::createStringError("--check=each is for threads, and "
                                   "--transport starts none; leave one out");
  if (llvm::Error error = joinJob(options, program))
    return error;
  if (!options.ranks && options.mesh.empty())
    options.ranks = options.job->size();
  return llvm::Error::success();
}

llvm::Expected<std::optional<Mesh>> meshFrom(const Options &options) {
  if (options.ranks && *options.ranks < 1)
    return llvm::createStringError("--ranks must be at least 1, but is " +
                                   std::to_string(*options.ranks));
  if (options.mesh.empty() && !options.ranks)
    return std::nullopt;
  std::string text = options.mesh;
  if (text.empty() && llvm::StringRef(options.sharding.axis).contains(','))
    return llvm::createStringError("--axis=" + options.sharding.axis +
                                   " lists several axes, so --mesh must give "
                                   "their sizes, e.g. --mesh=ring=2,u=2");
  if (text.empty())
    text = options.sharding.axis + "=" + std::to_string(*options.ranks);
  std::string message;
  std::optional<Mesh> mesh = parseMesh(text, message);
  if (!mesh)
    return llvm::createStringError(message);
  if (options.ranks && mesh->numRanks() != *options.ranks)
    return llvm::createStringError(
        "--ranks=" + std::to_string(*options.ranks) + ", but mesh '" + text +
        "' has " + std::to_string(mesh->numRanks()) +
        " ranks; give one of the two, or let them agree");
  return mesh;
}

Mesh oneRank(llvm::StringRef axes) {
  Mesh mesh;
  for (llvm::StringRef name : llvm::split(axes, ','))
    mesh.axes.push_back({name.str(), 1});
  return mesh;
}

} // namespace cp
