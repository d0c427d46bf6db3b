//===- Report.h - What a run says about itself ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_REPORT_H
#define CP_TOOLS_CPRUN_REPORT_H

#include "NotFiniteResults.h"
#include "cp/Execution/Program.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// A run and, if there was one, its check.
struct Report {
  int64_t ranks = 1;
  std::string stage, strategy;
  std::optional<Difference> check;
  double compileSeconds = 0;
  RunResult run;
  std::vector<NotFiniteResult> notFinite;
};

/// The report's version 1; the README describes it.
llvm::json::Value toJson(const Report &report);

/// The same as a table for people.
void printTable(const Report &report, llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_CPRUN_REPORT_H
