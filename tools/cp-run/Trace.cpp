//===- Trace.cpp - A program on ids -----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "llvm/Support/raw_ostream.h"

namespace cp {
namespace {

constexpr size_t mostPrinted = 5;

std::string plural(int64_t count, llvm::StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

void print(const TokenTrace &trace, llvm::raw_ostream &os) {
  for (const TokenFinding &finding :
       llvm::ArrayRef(trace.findings).take_front(mostPrinted)) {
    os << finding.where << "\n  rank " << finding.rank << ": " << finding.what
       << "\n";
    if (finding.more > 0)
      os << "  and " << finding.more << " more of this op\n";
  }
  if (trace.findings.size() > mostPrinted)
    os << "and " << trace.findings.size() - mostPrinted
       << " more ops, which may follow from these\n";
  os << plural(trace.traced, "op") << " traced on "
     << plural(trace.ranks, "rank") << ", " << trace.findings.size()
     << " with something out of place\n";
  if (trace.ranks == 1)
    os << "one rank holds every element, so none can be on the wrong one\n";
  for (const auto &[name, count] : trace.untraced)
    os << "not traced: " << plural(count, "op") << " " << name << "\n";
  if (!trace.complete)
    os << "of some results nothing is known\n";
  // Before the error, wherever the two go.
  os.flush();
}

llvm::json::Value toJson(const TokenTrace &trace) {
  llvm::json::Array findings;
  for (const TokenFinding &finding : trace.findings)
    findings.push_back(llvm::json::Object{{"op", finding.where},
                                          {"rank", finding.rank},
                                          {"what", finding.what},
                                          {"more", finding.more}});
  llvm::json::Object untraced;
  for (const auto &[name, count] : trace.untraced)
    untraced[name] = count;
  return llvm::json::Object{{"version", 1},
                            {"ranks", trace.ranks},
                            {"traced", trace.traced},
                            {"findings", std::move(findings)},
                            {"untraced", std::move(untraced)},
                            {"complete", trace.complete}};
}

} // namespace

llvm::Error traceModel(mlir::ModuleOp module, const CompileOptions &compile,
                       llvm::json::Value &json) {
  llvm::Expected<TokenTrace> trace = traceTokens(module, compile);
  if (!trace)
    return trace.takeError();
  print(*trace, llvm::outs());
  json = toJson(*trace);
  if (trace->findings.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "the trace failed: " + plural(trace->findings.size(), "op") +
      " with something out of place, the first is " +
      trace->findings.front().where);
}

} // namespace cp
