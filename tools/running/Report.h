//===- Report.h - What a run says about itself ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_REPORT_H
#define CP_TOOLS_RUNNING_REPORT_H

#include "ResultNumbers.h"
#include "RunFlags.h"
#include "cp/Execution/Memory.h"
#include "cp/Execution/Program.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// A run and, if there was one, its check. Refers to what it is made of.
struct Report {
  const RunFlags &flags;
  /// What the program was made of, as cp::originOf says it.
  llvm::json::Object origin;
  const RunOptions &runOptions;
  const Program &program;
  RunResult run;
  ResultNumbers numbers;
  std::optional<Difference> check;
  /// Why a check that was asked for could not be made; empty else.
  std::string checkError;
};

/// The report's version 1; the README describes it.
llvm::json::Value toJson(const Report &report);

/// The same as a table for people.
void printTable(const Report &report, llvm::raw_ostream &os);

/// The command that runs the same again, for a shell in the same folder. It
/// names the number of threads, which else depends on the machine.
std::string repeatCommand(const Report &report);

} // namespace cp

#endif // CP_TOOLS_RUNNING_REPORT_H
