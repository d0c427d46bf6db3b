//===- OpTrace.h - One op of a program on ids -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_OPTRACE_H
#define CP_TRACE_OPTRACE_H

#include "cp/Trace/TracedValue.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/Support/Error.h"

namespace cp {
class Tracer;
class TraceWorld;

/// What an op reads under which name, as findings say it.
struct NamedValue {
  std::string name;
  const TracedValue *value;
};

/// One op being traced, on all ranks at once.
class OpTrace {
public:
  OpTrace(Tracer &tracer, mlir::Operation *op) : tracer(tracer), op(op) {}

  mlir::Operation *getOperation() const { return op; }
  int64_t numRanks() const;

  /// What an operand is; it stays where it is while results come.
  const TracedValue &operand(mlir::Value value) const;
  const TracedValue &operand(unsigned number) const {
    return operand(op->getOperand(number));
  }
  bool anyUnknown() const;
  /// What a result becomes: it has its shape, and constants' ids.
  TracedValue &result(unsigned number);
  /// Nothing is known of the results.
  void setUnknown();
  /// The same, and the op counts as one that was not followed.
  void giveUp();
  bool hasGivenUp() const { return gaveUp; }

  /// Every cover of the program.
  Covers &covers() const;

  /// What is wrong on a rank; the first of an op is listed.
  void report(int64_t rank, const std::string &what);

private:
  friend TraceWorld &worldOf(OpTrace &trace);

  Tracer &tracer;
  mlir::Operation *op;
  bool gaveUp = false;
};

} // namespace cp

#include "cp/Trace/TraceInterface.h.inc"

#endif // CP_TRACE_OPTRACE_H
