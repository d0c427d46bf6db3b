//===- Report.cpp - What a run says about itself ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

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

json::Value toJson(const Report &report) {
  json::Array collectives;
  for (const CollectiveCount &count : report.run.collectives)
    collectives.push_back(json::Object{
        {"op", count.op},
        {"axes", json::Array(count.axes)},
        {"calls", count.calls},
        {"bytes_sent_per_rank", json::Array(count.bytesSentPerRank)}});
  int64_t peak = 0;
  for (int64_t bytes : report.run.peakBytesPerRank)
    peak = std::max(peak, bytes);
  json::Object object{
      {"version", 1},
      {"ranks", report.ranks},
      {"backend", "threads"},
      {"stage", report.stage},
      {"strategy", report.strategy},
      {"compile_seconds", report.compileSeconds},
      {"run_seconds", json::Array(report.run.seconds)},
      {"peak_bytes_per_rank", peak},
      {"allocations_per_step", json::Array(report.run.allocationsPerStep)},
      {"not_finite", toJson(report.notFinite)},
      {"collectives", std::move(collectives)}};
  if (report.check)
    object["check"] = json::Object{{"max_abs", number(report.check->maxAbs)},
                                   {"rel_l2", number(report.check->relL2)},
                                   {"bitwise", report.check->bitwiseEqual}};
  return object;
}

static void printCollective(const CollectiveCount &count,
                            llvm::raw_ostream &os) {
  std::string axes;
  for (const std::string &axis : count.axes)
    axes += (axes.empty() ? "" : ",") + axis;
  int64_t most = *std::max_element(count.bytesSentPerRank.begin(),
                                   count.bytesSentPerRank.end());
  os << llvm::format("  %-16s %-8s %6lld calls  %14lld bytes sent by the "
                     "busiest rank\n",
                     count.op.c_str(), axes.c_str(),
                     static_cast<long long>(count.calls),
                     static_cast<long long>(most));
}

void printTable(const Report &report, llvm::raw_ostream &os) {
  os << "ranks     " << report.ranks << " (threads)\n";
  os << "module    " << report.stage << "\n";
  os << "strategy  " << report.strategy << "\n";
  os << llvm::format("compile   %.2f s\n", report.compileSeconds);
  os << "run      ";
  for (double seconds : report.run.seconds)
    os << llvm::format(" %.3f", seconds);
  os << " s\n";
  int64_t peak = 0;
  for (int64_t bytes : report.run.peakBytesPerRank)
    peak = std::max(peak, bytes);
  os << llvm::format("memory    %.1f MiB a rank at most\n",
                     static_cast<double>(peak) / (1 << 20));
  os << (report.run.collectives.empty() ? "collectives  none\n"
                                        : "collectives\n");
  for (const CollectiveCount &count : report.run.collectives)
    printCollective(count, os);
  if (report.check)
    os << llvm::format("check     max_abs %.3g, rel_l2 %.3g",
                       report.check->maxAbs, report.check->relL2)
       << (report.check->bitwiseEqual ? ", bitwise equal" : "") << "\n";
}

} // namespace cp
