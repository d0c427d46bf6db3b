//===- PaddedShapes.cpp - What has more rows than before ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedShapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

static ArrayRef<int64_t> shapeNow(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> PaddedShapes::of(Value value) const {
  const auto *found = shapes.find(value);
  return found == shapes.end() ? shapeNow(value) : ArrayRef(found->second);
}

bool PaddedShapes::isPadded(Value value, int64_t dim) const {
  return of(value)[dim] != shapeNow(value)[dim];
}

void PaddedShapes::change(Value value, SmallVector<int64_t> shape) {
  shapes[value] = std::move(shape);
  if (Operation *op = value.getDefiningOp())
    pending.insert(op);
  for (Operation *user : value.getUsers())
    if (Operation *op = body.findAncestorOpInBlock(*user);
        op && !op->hasTrait<OpTrait::IsTerminator>())
      pending.insert(op);
}

void PaddedShapes::pad(BlockArgument argument, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(of(argument));
  shape[dim] = size;
  change(argument, std::move(shape));
}

/// Calls fn(value, dims) for the op's operands and results.
template <typename Fn>
static void forEachTensor(Operation *op, const ShardingRule &rule, Fn fn) {
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    fn(value, dims);
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    fn(value, dims);
}

static int64_t product(ArrayRef<int64_t> factors, ArrayRef<int64_t> sizes) {
  int64_t size = 1;
  for (int64_t factor : factors)
    size *= sizes[factor];
  return size;
}

FailureOr<PaddedFactors> PaddedShapes::factorsOf(Operation *op) const {
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules)
    return op->emitOpError("pad_sequence_c2: nothing says how its dimensions "
                           "correspond (ShardingRuleOpInterface), and ranks do "
                           "not divide the sequence that it has to do with; "
                           "give a length that they do");
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule))
    return failure();
  PaddedFactors factors = {*rule, rule->sizes};
  bool isWhole = true;
  forEachTensor(op, *rule, [&](Value value, const TensorFactors &dims) {
    for (auto [dim, along] : llvm::enumerate(dims)) {
      if (!isPadded(value) || !isPadded(value, dim) || along.empty())
        continue;
      int64_t inner = product(ArrayRef(along).drop_front(), rule->sizes);
      isWhole &= inner != 0 && of(value)[dim] % inner == 0;
      factors.sizes[along.front()] = inner ? of(value)[dim] / inner : 0;
    }
  });
  if (!isWhole)
    return op->emitOpError(
        "pad_sequence_c2: cuts rows of a sequence that ranks "
        "do not divide into groups that its padded length "
        "is no multiple of; give a length that the ranks "
        "divide, or pad it before");
  return factors;
}

/// Whether it is made of nothing but what is.
static bool isMadeOfNothing(Operation *op) {
  return op && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return isMadeOfNothing(operand.getDefiningOp());
         });
}

/// Gives an operand that is made of nothing a copy of its own.
void PaddedShapes::own(OpOperand &operand) {
  Operation *op = operand.get().getDefiningOp();
  if (!isMadeOfNothing(op) || operand.get().hasOneUse() ||
      isPadded(operand.get()))
    return;
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  operand.set(copy->getResult(cast<OpResult>(operand.get()).getResultNumber()));
}

LogicalResult PaddedShapes::visit(Operation *op) {
  FailureOr<PaddedFactors> factors = factorsOf(op);
  if (failed(factors))
    return failure();
  auto newShape = [&](Value value, const TensorFactors &dims) {
    SmallVector<int64_t> shape(of(value));
    for (auto [size, along] : llvm::zip(shape, dims))
      if (llvm::any_of(along, [&](int64_t f) { return factors->isPadded(f); }))
        size = product(along, factors->sizes);
    return shape;
  };
  for (auto [operand, dims] :
       llvm::zip(op->getOpOperands(), factors->rule.operands)) {
    SmallVector<int64_t> shape = newShape(operand.get(), dims);
    if (ArrayRef(shape) == of(operand.get()))
      continue;
    own(operand);
    if (auto argument = dyn_cast<BlockArgument>(operand.get()))
      return op->emitOpError("pad_sequence_c1: argument ")
             << argument.getArgNumber() << ", " << argument.getType()
             << ", has a row for each token of a sequence that ranks do not "
                "divide, but no cp.sequence says so; give it one, or a length "
                "that they divide";
    change(operand.get(), std::move(shape));
  }
  for (auto [result, dims] : llvm::zip(op->getResults(), factors->rule.results))
    if (SmallVector<int64_t> shape = newShape(result, dims);
        ArrayRef(shape) != of(result))
      change(result, std::move(shape));
  return success();
}

LogicalResult PaddedShapes::spread() {
  while (!pending.empty())
    if (failed(visit(pending.pop_back_val())))
      return failure();
  return success();
}

/// A slice of all rows is one of all that there are now.
static void resizeSlice(tensor::ExtractSliceOp slice,
                        ArrayRef<int64_t> source) {
  SmallVector<int64_t> sizes(slice.getStaticSizes());
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (auto [dim, before] : llvm::enumerate(slice.getSourceType().getShape()))
    if (sizes[dim] == before && !dropped.test(dim))
      sizes[dim] = source[dim];
  slice.setStaticSizes(sizes);
}

void PaddedShapes::apply() {
  // Users first: what has sizes of its own compares with operands of before.
  for (Operation &op : llvm::reverse(body)) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      resizeSlice(slice, of(slice.getSource()));
    bool isChanged = false;
    for (OpResult result : op.getResults()) {
      if (!isPadded(result))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      result.setType(type.clone(of(result)));
      isChanged = true;
    }
    if (auto rules = dyn_cast<ShardingRuleOpInterface>(op); rules && isChanged)
      rules.localizeSizes();
  }
  for (BlockArgument argument : body.getArguments())
    if (isPadded(argument))
      argument.setType(
          cast<RankedTensorType>(argument.getType()).clone(of(argument)));
}

} // namespace cp
