//===- ZigzagParts.cpp - Ops on two parts of a sequence ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZigzagParts.h"

using namespace mlir;

namespace cp {

LogicalResult refuseResult(OpResult result) {
  return result.getOwner()->emitOpError("partition_c3: result ")
         << result.getResultNumber()
         << " is used, but is not known on every rank when the sequence is "
            "cut; cut heads instead (strategy = \"hidden\")";
}

namespace {

/// The dimension of a tensor that runs over a factor.
std::optional<int64_t> dimOf(const TensorFactors &dims, int64_t factor) {
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (llvm::is_contained(factors, factor))
      return dim;
  return std::nullopt;
}

/// The factors that stand where the batch of a tensor with the sequence does:
/// the minor one of the dimension in front.
std::optional<int64_t> batchOf(const TensorFactors &dims, int64_t sequence) {
  std::optional<int64_t> dim = dimOf(dims, sequence);
  bool fits = dim && *dim > 0 && dims[*dim].front() == sequence &&
              !dims[*dim - 1].empty();
  return fits ? std::optional(dims[*dim - 1].back()) : std::nullopt;
}

/// The batch factor of the first operand that has the sequence.
std::optional<int64_t> batchOf(const ShardingRule &rule, int64_t sequence) {
  for (const TensorFactors &dims : rule.operands)
    if (dimOf(dims, sequence))
      return batchOf(dims, sequence);
  return std::nullopt;
}

/// The first tensor that has the sequence, but not with that batch before it.
std::optional<std::string> misfit(const ShardingRule &rule, int64_t sequence,
                                  std::optional<int64_t> batch) {
  auto find = [&](ArrayRef<TensorFactors> tensors,
                  StringRef what) -> std::optional<std::string> {
    for (auto [number, dims] : llvm::enumerate(tensors))
      if (dimOf(dims, sequence) && (!batch || batchOf(dims, sequence) != batch))
        return (what + Twine(number)).str();
    return std::nullopt;
  };
  if (auto operand = find(rule.operands, "operand "))
    return operand;
  return find(rule.results, "result ");
}

/// As `type`, with dimension `dim` twice as long.
RankedTensorType doubled(Type type, int64_t dim) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] *= 2;
  return tensor.clone(shape);
}

/// Makes both parts of a batch element have what the element has.
Value givenToBoth(OpBuilder &builder, Value value, const ShardingRule &rule,
                  const TensorFactors &dims, int64_t batch) {
  int64_t dim = *dimOf(dims, batch), unit = 1;
  for (int64_t factor : llvm::reverse(dims[dim])) {
    if (factor == batch)
      break;
    unit *= rule.sizes[factor];
  }
  return RepeatOp::create(builder, value.getLoc(),
                          doubled(value.getType(), dim), value, dim, unit,
                          /*times=*/2);
}

} // namespace

LogicalResult checkZigzagParts(SequenceOpInterface op,
                               const ShardingRule &rule) {
  int64_t sequence = op.getSequenceFactor();
  std::optional<int64_t> batch = batchOf(rule, sequence);
  if (std::optional<std::string> tensor = misfit(rule, sequence, batch))
    return op->emitOpError("partition_c1: the sequence is cut in zigzag order, "
                           "for which each tensor with it must have one and "
                           "the same batch dimension in front of it, but ")
           << *tensor << " has not; reshard the sequence to contiguous order";
  auto scan = dyn_cast<ScanOpInterface>(op.getOperation());
  Value finalState = scan ? scan.getFinalState() : Value();
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    if (!result.use_empty() && result != finalState && dimOf(dims, *batch) &&
        !dimOf(dims, sequence))
      return refuseResult(result);
  return success();
}

/// Gives a result the type that it has on the parts, and what uses it one value
/// with both parts again.
static void joinParts(OpBuilder &builder, OpResult result,
                      const TensorFactors &dims, int64_t batch,
                      int64_t sequence) {
  std::optional<int64_t> batchDim = dimOf(dims, batch);
  if (!batchDim)
    return;
  RankedTensorType type = doubled(result.getType(), *batchDim);
  std::optional<int64_t> dim = dimOf(dims, sequence);
  if (!dim)
    return result.setType(type);
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] /= 2;
  SmallVector<OpOperand *> uses(llvm::make_pointer_range(result.getUses()));
  result.setType(type.clone(shape));
  Value joined = seenAsOne(builder, result, *dim);
  for (OpOperand *use : uses)
    use->set(joined);
}

int64_t runOnZigzagParts(SequenceOpInterface op, const ShardingRule &rule) {
  int64_t sequence = op.getSequenceFactor(), batch = *batchOf(rule, sequence);
  int64_t parts = 0;
  auto window = dyn_cast<WindowOpInterface>(op.getOperation());
  Value initialRows = window ? window.getInitialRows() : Value();
  OpBuilder builder(op);
  for (auto [operand, dims] : llvm::zip(op->getOpOperands(), rule.operands)) {
    if (std::optional<int64_t> dim = dimOf(dims, sequence)) {
      operand.set(seenAsParts(builder, operand.get(), *dim));
      auto type = cast<RankedTensorType>(operand.get().getType());
      parts = type.getDimSize(*dim - 1);
    } else if (dimOf(dims, batch) && operand.get() != initialRows) {
      operand.set(givenToBoth(builder, operand.get(), rule, dims, batch));
    }
  }
  builder.setInsertionPointAfter(op);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    joinParts(builder, result, dims, batch, sequence);
  cast<ShardingRuleOpInterface>(op.getOperation()).localizeSizes();
  return parts;
}

} // namespace cp
