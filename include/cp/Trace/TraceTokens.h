//===- TraceTokens.h - Where every token and channel goes -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_TRACETOKENS_H
#define CP_TRACE_TRACETOKENS_H

#include "cp/Compile/Compile.h"

#include <map>
#include <string>
#include <vector>

namespace cp {

/// An op of one rank's program that reads, or a result that holds, something
/// else than it should.
struct TokenFinding {
  /// "cp.ssd_scan (layer 3, model.mlir:13:10)", "result 0 (logits)".
  std::string where;
  int64_t rank = 0;
  /// Which row holds what, and what it should hold.
  std::string what;
  /// How often more of the same op, on all ranks.
  int64_t more = 0;
};

/// What came of tracing a program.
struct TokenTrace {
  int64_t ranks = 0;
  /// In the order of the program, one for each op at which something is wrong.
  std::vector<TokenFinding> findings;
  /// Ops that were followed on all ranks.
  int64_t traced = 0;
  /// Ops that were not, by name: their results, and what is made of them, hold
  /// nothing that is known, so nothing is said of them.
  std::map<std::string, int64_t> untraced;
  /// Whether each result was known in full.
  bool complete = true;
};

/// Runs the data movement of one rank's program, sharded first as by
/// compileProgram, on ids of elements in place of numbers: on all ranks, by
/// the runtime itself. Ops that compute are asked whether the elements that
/// meet in them belong together, by their sharding rules or, along a sequence,
/// by TraceOpInterface or as windows: rows in order, windows and states that
/// begin where a rank's rows do, places that are those of the cut, sums that
/// are complete. Exact, without tolerance.
///
/// Errors: what compileProgram refuses; a program whose ids take more than
/// `maxBytes` at one time; a collective that the runtime refuses.
llvm::Expected<TokenTrace> traceTokens(mlir::ModuleOp module,
                                       const CompileOptions &options,
                                       int64_t maxBytes = int64_t(4) << 30);

} // namespace cp

#endif // CP_TRACE_TRACETOKENS_H
