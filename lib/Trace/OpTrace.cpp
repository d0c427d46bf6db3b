//===- OpTrace.cpp - One op of a program on ids -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Trace/OpTrace.h"

#include "Tracer.h"
#include "cp/Transforms/SourcePlace.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

#include "cp/Trace/TraceInterface.cpp.inc"

namespace cp {

int64_t OpTrace::numRanks() const { return tracer.trace.ranks; }
Covers &OpTrace::covers() const { return tracer.covers; }

void OpTrace::setUnknown() { tracer.setUnknown(op); }

void OpTrace::giveUp() {
  gaveUp = true;
  setUnknown();
}

/// "cp.ssd (layer 3, model.mlir:13:10)".
static std::string describe(Operation *op, const Layers &layers) {
  std::string text = op->getName().getStringRef().str() + " (";
  std::string layer = layers.of(op);
  if (layer != "-")
    text += (llvm::isDigit(layer.front()) ? "layer " : "") + layer + ", ";
  std::string place = sourcePlace(op->getLoc());
  return text + (place == "-" ? "no location" : place) + ")";
}

void OpTrace::report(int64_t rank, const std::string &what) {
  std::string where = describe(op, tracer.layers);
  std::vector<TokenFinding> &findings = tracer.trace.findings;
  if (!findings.empty() && findings.back().where == where)
    ++findings.back().more;
  else
    findings.push_back({where, rank, what, 0});
}

const TracedValue &OpTrace::operand(Value value) const {
  return tracer.of(value);
}

TracedValue &OpTrace::result(unsigned number) {
  TracedValue &value = tracer.of(op->getResult(number));
  auto type = dyn_cast<RankedTensorType>(op->getResult(number).getType());
  if (type && value.shape.empty())
    value.shape.assign(type.getShape().begin(), type.getShape().end());
  return value;
}

bool OpTrace::anyUnknown() const {
  return llvm::any_of(op->getOperands(),
                      [&](Value value) { return operand(value).isUnknown; });
}

} // namespace cp
