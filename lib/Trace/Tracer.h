//===- Tracer.h - One program on ids ----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRACE_TRACER_H
#define CP_LIB_TRACE_TRACER_H

#include "Compile/LocalProgram.h"
#include "World.h"
#include "cp/Trace/OpTrace.h"
#include "cp/Trace/TraceTokens.h"
#include "cp/Transforms/Layers.h"

#include <unordered_map>

namespace cp {

/// Follows the ops of one program. What is found is no failure.
class Tracer {
public:
  Tracer(LocalProgram &program, TraceWorld &world, TokenTrace &trace,
         int64_t maxBytes);

  llvm::Error run();

  /// What an op may ask; see OpTrace.
  TraceWorld &world;
  TokenTrace &trace;
  Layers layers;
  Covers covers;
  TracedValue &of(mlir::Value value) {
    return values[value.getAsOpaquePointer()];
  }
  void setUnknown(mlir::Operation *op);

private:
  llvm::Error traceOp(mlir::Operation *op);
  llvm::Error traceArguments();
  void checkResults(mlir::Operation *terminator);
  llvm::Error checkMemory(mlir::Operation *op) const;
  void release(mlir::Operation *op);
  void noteKinds(mlir::Operation *op);

  LocalProgram &program;
  int64_t maxBytes;
  /// By Value::getAsOpaquePointer(); values stay where they are while others
  /// come.
  std::unordered_map<const void *, TracedValue> values;
};

/// What runs the runtime's operations on ids.
inline TraceWorld &worldOf(OpTrace &trace) { return trace.tracer.world; }

} // namespace cp

#endif // CP_LIB_TRACE_TRACER_H
