//===- Decisions.cpp - What the compiler decided ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Decisions.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <mutex>

using namespace mlir;

namespace cp {

std::string Decision::text(const std::string &key) const {
  auto fact = facts.find(key);
  return fact == facts.end() ? "" : fact->second;
}

static int64_t numberOf(llvm::StringRef text) {
  int64_t number;
  return text.getAsInteger(10, number) ? 0 : number;
}

int64_t Decision::number(const std::string &key) const {
  return numberOf(text(key));
}

std::vector<int64_t> Decision::bytesByRank(int64_t ranks) const {
  std::string list = text("bytes_by_rank");
  if (list.empty())
    return std::vector<int64_t>(ranks, number("bytes"));
  std::vector<int64_t> bytes;
  for (llvm::StringRef part : llvm::split(list, ' '))
    bytes.push_back(numberOf(part));
  bytes.resize(ranks);
  return bytes;
}

/// Passes on functions run at the same time.
class DecisionRecorder::Streamer
    : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Decision decision{remark.getCategoryName().str(),
                      remark.getRemarkName().str(),
                      remark.getFunction().str(),
                      {}};
    for (const auto &argument : remark.getArgs())
      decision.facts[argument.key] = argument.val;
    std::lock_guard<std::mutex> lock(mutex);
    if (decision.category == "restart")
      return decisions.clear();
    decisions.push_back(std::move(decision));
  }

  mutable std::mutex mutex;
  std::vector<Decision> decisions;
};

llvm::Expected<std::unique_ptr<DecisionRecorder>>
DecisionRecorder::attach(MLIRContext &context) {
  if (context.getRemarkEngine())
    return llvm::createStringError(
        "the context has a remark engine already; record in another context, "
        "or read that engine's remarks");
  auto streamer = std::make_unique<Streamer>();
  Streamer *kept = streamer.get();
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  if (failed(remark::enableOptimizationRemarks(
          context, std::move(streamer),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    return llvm::createStringError("remarks could not be enabled");
  std::unique_ptr<DecisionRecorder> recorder(new DecisionRecorder(context));
  recorder->streamer = kept;
  return recorder;
}

void forgetDecisions(Location place) {
  remark::analysis(place,
                   remark::RemarkOpts::name("restart").category("restart"));
}

DecisionRecorder::~DecisionRecorder() { context.setRemarkEngine(nullptr); }

std::vector<Decision> DecisionRecorder::decisions() const {
  std::lock_guard<std::mutex> lock(streamer->mutex);
  std::vector<Decision> sorted = streamer->decisions;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Decision &a, const Decision &b) {
                     return a.function < b.function;
                   });
  return sorted;
}

} // namespace cp
