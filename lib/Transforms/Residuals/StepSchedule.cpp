//===- StepSchedule.cpp - What a step runs, and what lives ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSchedule.h"

#include "Differentiate/HalfFunction.h"
#include "ForwardPass.h"
#include "OpCost.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace cp {

StepSchedule::StepSchedule(func::FuncOp function,
                           const llvm::DenseSet<Operation *> &forward,
                           const llvm::DenseSet<Operation *> &again)
    : function(function), forward(forward), again(again) {
  llvm::DenseSet<Operation *> made;
  for (Operation &op : function.getBody().front()) {
    if (isBackward(&op, forward))
      for (Value value : readsOf(&op))
        addAgain(value, made);
    order.push_back({&op, false});
  }
}

/// With all that it is made of, in their order.
void StepSchedule::addAgain(Value value, llvm::DenseSet<Operation *> &made) {
  SmallVector<std::pair<Operation *, bool>> work;
  auto push = [&](Value next) {
    Operation *op = next.getDefiningOp();
    if (op && again.contains(op) && !made.contains(op))
      work.emplace_back(op, false);
  };
  push(value);
  while (!work.empty()) {
    auto &[op, hasOperands] = work.back();
    if (made.contains(op)) {
      work.pop_back();
    } else if (!std::exchange(hasOperands, true)) {
      // `op` moves when the list grows.
      Operation *reader = op;
      for (Value read : readsOf(reader))
        push(read);
    } else {
      made.insert(op);
      order.push_back({op, true});
      work.pop_back();
    }
  }
}

bool StepSchedule::readsAgain(Value value, const Step &reader) const {
  Operation *op = value.getDefiningOp();
  return op && again.contains(op) &&
         (reader.isAgain || isBackward(reader.op, forward));
}

//===----------------------------------------------------------------------===//
// What lives
//===----------------------------------------------------------------------===//

static bool isElementwise(Operation *op) {
  auto loops = dyn_cast<linalg::LinalgOp>(op);
  if (loops)
    return linalg::isElementwise(loops);
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// Whether what an op gives has no buffer: it is a view, or becomes part of
/// the one op that reads it.
static bool isTransparent(Operation *op) {
  if (isView(op) || isa<linalg::FillOp>(op))
    return true;
  return isElementwise(op) && op->hasOneUse() &&
         (isElementwise(*op->user_begin()) ||
          isa<linalg::LinalgOp>(*op->user_begin()));
}

/// Whether the caller has the buffer, or it is that of an argument.
static bool isCallers(Value value) {
  return isa<UpdateOpInterface>(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

int64_t StepSchedule::peakBytes() const {
  // The buffers that a value reads, and the last step that reads each.
  DenseMap<Id, SmallVector<Id, 2>> buffers;
  DenseMap<Id, size_t> lastRead;
  auto buffersOf = [&](Id id) -> ArrayRef<Id> {
    auto found = buffers.find(id);
    return found == buffers.end() ? ArrayRef<Id>() : ArrayRef(found->second);
  };
  for (auto [number, step] : llvm::enumerate(order)) {
    SmallVector<Id, 2> read;
    for (Value value : readsOf(step.op))
      llvm::append_range(read, buffersOf({value, readsAgain(value, step)}));
    for (Id id : read)
      lastRead[id] = number;
    for (Value result : step.op->getResults()) {
      Id id = {result, step.isAgain};
      if (isTransparent(step.op)) {
        buffers[id] = read;
      } else if (bytesOf(result) && !isCallers(result)) {
        buffers[id] = {id};
        lastRead[id] = number;
      }
    }
  }
  std::vector<int64_t> ending(order.size());
  for (auto [id, number] : lastRead)
    ending[number] += bytesOf(id.first);
  int64_t live = 0, peak = 0;
  for (auto [number, step] : llvm::enumerate(order)) {
    for (Value result : step.op->getResults())
      if (lastRead.contains({result, step.isAgain}))
        live += bytesOf(result);
    peak = std::max(peak, live);
    live -= ending[number];
  }
  return peak;
}

//===----------------------------------------------------------------------===//
// The second computations
//===----------------------------------------------------------------------===//

void StepSchedule::apply() const {
  IRMapping copies;
  SmallVector<Operation *> waiting;
  for (const Step &step : order) {
    if (step.isAgain) {
      waiting.push_back(step.op);
      continue;
    }
    if (!isBackward(step.op, forward))
      continue;
    OpBuilder builder(step.op);
    for (Operation *op : waiting) {
      Operation *copy = builder.clone(*op, copies);
      copy->setAttr(recomputedAttr, builder.getUnitAttr());
    }
    waiting.clear();
    // Regions read values above too.
    step.op->walk([&](Operation *reader) {
      for (OpOperand &operand : reader->getOpOperands())
        operand.set(copies.lookupOrDefault(operand.get()));
    });
  }
}

} // namespace cp
