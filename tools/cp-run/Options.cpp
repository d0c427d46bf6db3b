//===- Options.cpp - The command line of cp-run -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

namespace cl = llvm::cl;

namespace cp {
namespace {

cl::OptionCategory category("cp-run options");

/// A flag that writes straight into a field.
template <typename T> using Flag = cl::opt<T, /*ExternalStorage=*/true>;

void defineWhat(Options &o) {
  static cl::opt<std::string, true> model(
      cl::Positional, cl::desc("<model.mlir, any stage; - is standard input>"),
      cl::location(o.model), cl::init("-"), cl::cat(category));
  static Flag<std::string> entry(
      "entry", cl::desc("The function to run (default: the only public one)"),
      cl::location(o.entry), cl::cat(category));
  static cl::opt<int64_t> ranks(
      "ranks", cl::desc("Number of ranks"), cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.ranks = value; }));
  static Flag<std::string> mesh("mesh", cl::desc("Axes, e.g. dp=2,cp=4"),
                                cl::location(o.mesh), cl::cat(category));
  static Flag<std::string> axis(
      "axis", cl::desc("Axes that cut the sequence, major first, e.g. ring,u"),
      cl::location(o.sharding.axis), cl::init("cp"), cl::cat(category));
  static Flag<std::string> order(
      "order",
      cl::desc("Token order: contiguous, zigzag, striped or striped:UNIT"),
      cl::location(o.sharding.order), cl::init("contiguous"),
      cl::cat(category));
  static Flag<std::string> batch(
      "batch", cl::desc("Axes that cut the batch, major first, e.g. dp"),
      cl::location(o.sharding.batch), cl::cat(category));
  static Flag<std::string> strategy(
      "strategy",
      cl::desc("hidden, sequence or 2d (default: sequence; none on one rank)"),
      cl::location(o.sharding.mixer), cl::init(""), cl::cat(category));
  static Flag<std::string> attention(
      "attention", cl::desc("ulysses, ring, gather or 2d"),
      cl::location(o.sharding.attention), cl::init("ring"), cl::cat(category));
  static Flag<std::string> tensorAxis(
      "tp", cl::desc("Axis of tensor parallelism (default: none)"),
      cl::location(o.sharding.tensorAxis), cl::cat(category));
  static Flag<bool> tensorRows(
      "tp-rows", cl::desc("Cut rows between projections over that axis too"),
      cl::location(o.sharding.tensorRows), cl::cat(category));
  static Flag<std::string> params(
      "params",
      cl::desc("Axes that cut parameters where they are kept, and what "
               "goes with them, e.g. dp"),
      cl::location(o.sharding.params), cl::cat(category));
  static Flag<bool> replicate(
      "replicate-unused",
      cl::desc(
          "Let ranks along a mesh axis that cuts nothing do the same work"),
      cl::location(o.sharding.replicateUnused), cl::cat(category));
  static Flag<std::string> scan(
      "scan", cl::desc("chain, gather, doubling, pipelined or transposed"),
      cl::location(o.sharding.scan), cl::init("chain"), cl::cat(category));
}

void defineData(Options &o) {
  static Flag<std::string> inputs(
      "inputs",
      cl::desc(".safetensors by name; for a single input .npy, .ids (token ids "
               "as text, between white space or commas) or .txt (its bytes are "
               "the token ids); default: drawn"),
      cl::location(o.inputs), cl::cat(category));
  static Flag<std::string> rows(
      "rows",
      cl::desc(
          ".safetensors with the rows of a batch in place of --inputs, as "
          "cprt_batch.h takes them: padded to the model's length, packed "
          "into its rows, with lists of their documents; --outputs are "
          "those of the rows. Or documents, each a file of token ids (.npy, "
          ".ids, or a text's bytes), with commas between: they fill the "
          "model's rows in turn"),
      cl::location(o.rows), cl::cat(category));
  static Flag<std::string> weights(
      "weights", cl::desc(".safetensors or its index (default: drawn)"),
      cl::location(o.weights), cl::cat(category));
  static Flag<bool> ignoreUnused(
      "ignore-unused-weights",
      cl::desc("List the tensors of a file that the model does not take, and "
               "go on without them"),
      cl::location(o.ignoreUnusedWeights), cl::cat(category));
  static Flag<uint64_t> seed("seed", cl::desc("Of what is drawn"),
                             cl::location(o.seed), cl::init(0),
                             cl::cat(category));
  static Flag<std::string> save("save-weights",
                                cl::desc("Write the weights in use"),
                                cl::location(o.saveWeights), cl::cat(category));
  static Flag<std::string> outputs("outputs",
                                   cl::desc("Write the results (.safetensors)"),
                                   cl::location(o.outputs), cl::cat(category));
  static Flag<std::string> loss(
      "loss",
      cl::desc("next_token: the mean cross-entropy of each next token in place "
               "of logits"),
      cl::location(o.loss), cl::cat(category));
  static Flag<std::string> labels(
      "labels",
      cl::desc("What comes next, as .npy or .ids, -100 for nothing (default: "
               "the inputs, each row one further)"),
      cl::location(o.labels), cl::cat(category));
  static cl::opt<std::string> gradients(
      "gradients", cl::ValueOptional,
      cl::desc("The gradient of the loss by each weight; with a name, write it "
               "(.safetensors)"),
      cl::cat(category), cl::callback([&o](const std::string &value) {
        o.withGradients = true;
        o.gradients = value;
      }));
  static Flag<DifferentiatedView> differentiate(
      "differentiate", cl::desc("Which program the gradients are derived on:"),
      cl::values(clEnumValN(DifferentiatedView::Global, "global",
                            "whole tensors, before they are cut"),
                 clEnumValN(DifferentiatedView::Local, "local",
                            "the program of one rank, with its exchanges")),
      cl::location(o.differentiate), cl::init(DifferentiatedView::Global),
      cl::cat(category));
  static Flag<std::string> report("report", cl::desc("Write the report (JSON)"),
                                  cl::location(o.report), cl::cat(category));
}

void defineHow(Options &o) {
  static Flag<Check> check(
      "check",
      cl::desc("Compare with the undecorated module on reference kernels:"),
      cl::ValueOptional,
      cl::values(clEnumValN(Check::Results, "results", "its results"),
                 clEnumValN(Check::Each, "each",
                            "what every op computes, on every rank; names the "
                            "first op, rank and index that differ"),
                 clEnumValN(Check::Results, "", "")),
      cl::location(o.check), cl::init(Check::None), cl::cat(category));
  static Flag<std::string> reference(
      "reference",
      cl::desc("The module that a sharded one was made from, to check against"),
      cl::location(o.reference), cl::cat(category));
  static Flag<bool> explain(
      "explain",
      cl::desc("Compile, print what travels in each layer and why, and stop: "
               "needs no weights and runs nothing"),
      cl::location(o.explain), cl::cat(category));
  static Flag<std::string> emit(
      "emit",
      cl::desc("Compile to a shared library that needs the runtime alone "
               "(cprt_program.h), and stop"),
      cl::location(o.emit), cl::cat(category));
  static Flag<std::string> targetCpu(
      "target-cpu",
      cl::desc("The least processor that --emit compiles for, or native "
               "(default: x86-64-v3)"),
      cl::location(o.targetCpu), cl::cat(category));
  static cl::opt<std::string> vjp(
      "vjp", cl::ValueOptional,
      cl::desc(
          "With --emit: forward and backward as two entries, for who calls "
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
  static Flag<bool> trace(
      "trace-tokens",
      cl::desc("Move ids of tokens and channels in place of numbers and say "
               "which rank holds what where something else should be: exact, "
               "needs no weights, and takes programs of one rank too"),
      cl::location(o.traceTokens), cl::cat(category));
  static Flag<std::string> against(
      "check-against", cl::desc("Compare with results that --outputs wrote"),
      cl::location(o.checkAgainst), cl::cat(category));
  static cl::opt<double> tolerance(
      "tolerance",
      cl::desc("Largest rel_l2 of a check (default: 1e-12 in f64, "
               "1e-5 in f32, 2e-2 in bf16)"),
      cl::cat(category),
      cl::callback([&o](const double &value) { o.tolerance = value; }));
  static Flag<std::string> kernels("kernels", cl::desc("fast or reference"),
                                   cl::location(o.kernels), cl::init("fast"),
                                   cl::cat(category));
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
  static Flag<int> repeats("repeat", cl::desc("Number of steps"),
                           cl::location(o.repeats), cl::init(1),
                           cl::cat(category));
  static Flag<bool> quiet("quiet", cl::desc("No table, no progress"),
                          cl::location(o.quiet), cl::cat(category));
  static Flag<int64_t> failing(
      "test-fail-rank", cl::desc("This rank fails before it starts"),
      cl::location(o.failRank), cl::init(-1), cl::Hidden, cl::cat(category));
  static Flag<int64_t> stalling(
      "test-stall-rank", cl::desc("This rank never starts"),
      cl::location(o.stallRank), cl::init(-1), cl::Hidden, cl::cat(category));
}

} // namespace

void defineTransport(Options &options, cl::OptionCategory &of) {
  static Flag<std::string> transport(
      "transport",
      cl::desc("Each process of a job is a rank, and this carries what they "
               "exchange, e.g. openmpi under mpirun (default: ranks are "
               "threads of this process)"),
      cl::location(options.transport), cl::cat(of));
}

Options parseOptions(int argc, char **argv) {
  // Flags keep pointers into it.
  static Options options;
  defineWhat(options);
  defineData(options);
  defineHow(options);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Run a model on N ranks and report\n");
  options.arguments.assign(argv + 1, argv + argc);
  for (const char *name : {"strategy", "attention", "order", "axis", "tp",
                           "tp-rows", "params", "scan", "replicate-unused"})
    if (cl::getRegisteredOptions()[name]->getNumOccurrences() > 0)
      options.shardingFlags.push_back(std::string("--") + name);
  return options;
}

llvm::Error joinJob(Options &options, const char *program) {
  if (options.transport.empty())
    return llvm::Error::success();
  if (options.explain || options.traceTokens || !options.emit.empty())
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
  llvm::Expected<std::string> path =
      Transport::find(options.transport, program);
  if (!path)
    return path.takeError();
  if (llvm::Error error = Transport::load(*path).moveInto(options.job))
    return error;
  options.quiet |= !options.speaks();
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
