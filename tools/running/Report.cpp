//===- Report.cpp - What a run says about itself ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace json = llvm::json;

namespace cp {

/// JSON has no infinity and no NaN; such a check failed, and says so in words.
static json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "NaN" : "Infinity";
}

static json::Array toJson(llvm::ArrayRef<NotFiniteResult> results) {
  json::Array array;
  for (const NotFiniteResult &result : results)
    array.push_back(json::Object{{"result", result.name},
                                 {"count", result.found.count},
                                 {"elements", result.elements},
                                 {"first", json::Array(result.found.first)}});
  return array;
}

static json::Array toJson(llvm::ArrayRef<CollectiveCount> counts) {
  json::Array collectives;
  for (const CollectiveCount &count : counts)
    collectives.push_back(json::Object{
        {"op", count.op},
        {"axes", json::Array(count.axes)},
        {"calls", count.calls},
        {"bytes_sent_per_rank", json::Array(count.bytesSentPerRank)},
        {"exposed_seconds_per_rank",
         json::Array(count.exposedSecondsPerRank)}});
  return collectives;
}

static json::Object toJson(const MemoryUse &use) {
  return json::Object{{"program", use.program}, {"weights", use.weights},
                      {"optimizer", use.state}, {"inputs", use.inputs},
                      {"outputs", use.outputs}, {"total", use.total()}};
}

/// A process of a job has one rank.
static MemoryNeed needOf(const Report &report) {
  MemoryNeed need = memoryNeed(report.program);
  need.process = needHere(need, report.flags);
  return need;
}

static json::Object memoryOf(const Report &report) {
  MemoryNeed need = needOf(report);
  return json::Object{{"rank", toJson(need.rank)},
                      {"process", toJson(need.process)},
                      {"peak_resident", peakResidentBytes()}};
}

/// The element types among some tensors, once each.
static json::Array typesOf(llvm::ArrayRef<TensorSpec> specs) {
  std::set<std::string> types;
  for (const TensorSpec &spec : specs)
    types.insert(dtypeName(spec.dtype).str());
  return json::Array(types);
}

/// A word of where the program comes from.
static std::string originOf(const Report &report, llvm::StringRef key) {
  return report.origin.getString(key).value_or("unknown").str();
}

/// What another run needs to be the same.
static json::Object repeatOf(const Report &report) {
  const RunFlags &options = report.flags;
  uint32_t api = cprt_api_version();
  llvm::SmallString<128> folder;
  // One that is gone has no name.
  if (llvm::sys::fs::current_path(folder))
    folder.clear();
  return json::Object{
      {"command", json::fixUTF8(repeatCommand(report))},
      {"folder", json::fixUTF8(folder)},
      {"files",
       json::Object{{"model", json::fixUTF8(options.model)},
                    {"inputs", json::fixUTF8(options.inputs)},
                    {"rows", json::fixUTF8(options.rows)},
                    {"weights", json::fixUTF8(options.weights)},
                    {"reference", json::fixUTF8(options.reference)},
                    {"check_against", json::fixUTF8(options.checkAgainst)}}},
      {"seed", options.seed},
      {"kernels", options.kernels},
      {"rank_threads", report.runOptions.threads},
      {"versions",
       json::Object{{"cp_mlir", CP_VERSION},
                    {"llvm", LLVM_VERSION_STRING},
                    {"runtime", std::to_string(api >> 16) + "." +
                                    std::to_string(api & 0xffff)}}}};
}

static int64_t peakOf(const RunResult &run) {
  int64_t peak = 0;
  for (int64_t bytes : run.peakBytesPerRank)
    peak = std::max(peak, bytes);
  return peak;
}

/// What carries what ranks exchange.
static std::string backendOf(const Report &report) {
  return report.flags.job ? report.flags.job->name() : "threads";
}

json::Value toJson(const Report &report) {
  const Program &program = report.program;
  json::Object object{
      {"version", 1},
      {"ranks", program.mesh().numRanks()},
      {"mesh", meshText(program.mesh())},
      {"backend", backendOf(report)},
      {"stage", originOf(report, "stage")},
      {"strategy", originOf(report, "strategy")},
      {"types", json::Object{{"arguments", typesOf(program.arguments())},
                             {"results", typesOf(program.results())}}},
      {"run_seconds", json::Array(report.run.seconds)},
      {"peak_bytes_per_rank", peakOf(report.run)},
      {"memory", memoryOf(report)},
      {"allocations_per_step", json::Array(report.run.allocationsPerStep)},
      {"not_finite", toJson(report.numbers.notFinite)},
      {"collectives", toJson(report.run.collectives)},
      {"repeat", repeatOf(report)}};
  if (const json::Object *sharding = report.origin.getObject("sharding"))
    object["sharding"] = json::Object(*sharding);
  if (program.compileSeconds() > 0)
    object["compile_seconds"] = program.compileSeconds();
  if (auto loss = report.numbers.loss)
    object["loss"] = number(*loss);
  if (auto norm = report.numbers.gradNorm)
    object["grad_norm"] = number(*norm);
  if (report.check)
    object["check"] = json::Object{{"max_abs", number(report.check->maxAbs)},
                                   {"rel_l2", number(report.check->relL2)},
                                   {"bitwise", report.check->bitwiseEqual}};
  if (!report.checkError.empty())
    object["check_error"] = json::fixUTF8(report.checkError);
  return object;
}

/// A word for a shell.
static std::string quoted(llvm::StringRef word) {
  bool isPlain = !word.empty() && llvm::all_of(word, [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("-_=./,:+@%").contains(c);
  });
  if (isPlain)
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string repeatCommand(const Report &report) {
  std::string text = report.flags.tool;
  for (const std::string &argument : report.flags.arguments)
    text += " " + quoted(argument);
  if (!report.flags.threads)
    text += " --rank-threads=" + std::to_string(report.runOptions.threads);
  return text;
}

static void printCollective(const CollectiveCount &count,
                            llvm::raw_ostream &os) {
  std::string axes;
  for (const std::string &axis : count.axes)
    axes += (axes.empty() ? "" : ",") + axis;
  int64_t most = *std::max_element(count.bytesSentPerRank.begin(),
                                   count.bytesSentPerRank.end());
  os << llvm::format("  %-20s %-8s %6lld calls  %14lld bytes sent by the "
                     "busiest rank\n",
                     count.op.c_str(), axes.c_str(),
                     static_cast<long long>(count.calls),
                     static_cast<long long>(most));
}

static void printMemory(const char *title, const MemoryUse &use,
                        llvm::raw_ostream &os) {
  os << title << bytesText(use.total()) << ": program "
     << bytesText(use.program) << ", weights " << bytesText(use.weights);
  if (use.state)
    os << ", optimizer " << bytesText(use.state);
  os << ", inputs " << bytesText(use.inputs) << ", outputs "
     << bytesText(use.outputs) << "\n";
}

/// Of the last step, the most of any rank in all exchanges.
static double exposedSeconds(llvm::ArrayRef<CollectiveCount> counts) {
  std::vector<double> ranks;
  for (const CollectiveCount &count : counts) {
    ranks.resize(count.exposedSecondsPerRank.size());
    for (auto [sum, seconds] : llvm::zip(ranks, count.exposedSecondsPerRank))
      sum += seconds;
  }
  return ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
}

void printTable(const Report &report, llvm::raw_ostream &os) {
  const Program &program = report.program;
  os << "ranks     " << program.mesh().numRanks() << " (" << backendOf(report)
     << ")\n";
  os << "module    " << originOf(report, "stage") << "\n";
  os << "strategy  " << originOf(report, "strategy") << "\n";
  bool isCompiled = program.compileSeconds() > 0;
  if (isCompiled)
    os << llvm::format("compile   %.2f s\n", program.compileSeconds());
  os << "run      ";
  for (double seconds : report.run.seconds)
    os << llvm::format(" %.3f", seconds);
  os << " s";
  if (!report.run.collectives.empty())
    os << llvm::format(", %.3f of the last in exchanges alone",
                       exposedSeconds(report.run.collectives));
  os << "\n";
  MemoryNeed need = needOf(report);
  printMemory("a rank    ", need.rank, os);
  printMemory("process   ", need.process, os);
  os << "          " << bytesText(peakResidentBytes()) << " resident at most"
     << (isCompiled ? ", compiler and all" : "") << "\n";
  os << (report.run.collectives.empty() ? "collectives  none\n"
                                        : "collectives\n");
  for (const CollectiveCount &count : report.run.collectives)
    printCollective(count, os);
  if (auto loss = report.numbers.loss)
    os << llvm::format("loss      %.6g\n", *loss);
  if (auto norm = report.numbers.gradNorm)
    os << llvm::format("grad_norm %.6g\n", *norm);
  if (report.check)
    os << llvm::format("check     max_abs %.3g, rel_l2 %.3g",
                       report.check->maxAbs, report.check->relL2)
       << (report.check->bitwiseEqual ? ", bitwise equal" : "") << "\n";
}

} // namespace cp
