//===- ReverseSweep.cpp - Reverse mode over a block -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"
#include "cp/Adjoint/Adjoint.h"
#include "cp/IR/CPDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

#include "cp/Adjoint/AdjointInterface.cpp.inc"

namespace cp {

bool isDifferentiable(Type type) {
  return (isa<FloatType>(type) || isa<RankedTensorType>(type)) &&
         isa<FloatType>(getElementTypeOrSelf(type));
}

llvm::SetVector<Value> capturedBy(Operation *op) {
  llvm::SetVector<Value> values;
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

DenseSet<Value> findDependents(ArrayRef<Value> values,
                               ArrayRef<Operation *> ops) {
  DenseSet<Value> found(values.begin(), values.end());
  auto isFound = [&](Value value) { return found.contains(value); };
  // The bits of a number are integers, and may be a number again.
  auto isBits = [&](Value value) {
    return isFound(value) && !isDifferentiable(value.getType());
  };
  for (Operation *op : ops) {
    if (isa<StopGradientOp>(op) || (llvm::none_of(op->getOperands(), isFound) &&
                                    llvm::none_of(capturedBy(op), isFound)))
      continue;
    bool isBitcast = isa<arith::BitcastOp>(op);
    bool passesBits = isBitcast || llvm::any_of(op->getOperands(), isBits);
    // What is made of bits by their value, as an integer or an index is, has no
    // slope.
    auto isNumber = [&](Value value) {
      return isFound(value) && isDifferentiable(value.getType());
    };
    bool passes = isBitcast || llvm::any_of(op->getOperands(), isNumber) ||
                  llvm::any_of(capturedBy(op), isFound);
    for (Value result : op->getResults())
      if (isDifferentiable(result.getType()) ? passes : passesBits)
        found.insert(result);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Sums of cotangents
//===----------------------------------------------------------------------===//

Value ReverseSweep::sumOf(Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  // In the wider type of the two.
  Type element = getElementTypeOrSelf(a), other = getElementTypeOrSelf(b);
  if (other.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    element = other;
  b = withElements(builder, loc, b, element);
  a = withElements(builder, loc, a, element);
  return arith::AddFOp::create(builder, loc, a, b);
}

void ReverseSweep::add(Value value, Part part) {
  if (part.value && wanted.contains(value))
    parts[value].push_back(std::move(part));
}

void ReverseSweep::seed(Value value, Value cotangent) {
  add(value, {cotangent, {}});
}

namespace {
/// Boxes of a tensor's elements.
struct Box {
  ArrayRef<int64_t> offsets, sizes;

  bool meets(const Box &other) const {
    for (size_t dim = 0; dim < offsets.size(); ++dim)
      if (offsets[dim] + sizes[dim] <= other.offsets[dim] ||
          other.offsets[dim] + other.sizes[dim] <= offsets[dim])
        return false;
    return true;
  }
};
} // namespace

/// `slices` on top of `whole`, or of zeros where that is null. Those that have
/// no element in common, as the sections of a fused weight, need no zeros below
/// them if they are all of it.
Value ReverseSweep::assemble(Location loc, Value whole, ArrayRef<Part> slices,
                             RankedTensorType type) {
  Type element = getElementTypeOrSelf(whole ? whole : slices[0].value);
  for (const Part &part : slices)
    if (getElementTypeOrSelf(part.value).getIntOrFloatBitWidth() >
        element.getIntOrFloatBitWidth())
      element = getElementTypeOrSelf(part.value);
  type = type.clone(element);
  SmallVector<Box> boxes;
  int64_t covered = 0;
  for (const Part &part : slices) {
    auto partType = cast<RankedTensorType>(part.value.getType());
    boxes.push_back({part.offsets, partType.getShape()});
    covered += partType.getNumElements();
  }
  auto isApart = [&](size_t i) {
    return !whole &&
           llvm::none_of(ArrayRef(boxes).take_front(i),
                         [&](const Box &b) { return b.meets(boxes[i]); });
  };
  bool areAll = covered == type.getNumElements();
  for (size_t i = 0; i < boxes.size(); ++i)
    areAll &= isApart(i);
  Value sum = areAll  ? emptyOf(builder, loc, type)
              : whole ? withElements(builder, loc, whole, element)
                      : zerosOf(builder, loc, type);
  for (auto [i, part] : llvm::enumerate(slices)) {
    Value value = withElements(builder, loc, part.value, element);
    auto list = [&](ArrayRef<int64_t> values) {
      return getAsIndexOpFoldResult(builder.getContext(), values);
    };
    SmallVector<OpFoldResult> offsets = list(part.offsets),
                              sizes = list(boxes[i].sizes),
                              strides(offsets.size(), builder.getIndexAttr(1));
    if (!isApart(i))
      value = sumOf(loc,
                    tensor::ExtractSliceOp::create(builder, loc, sum, offsets,
                                                   sizes, strides),
                    value);
    sum = tensor::InsertSliceOp::create(builder, loc, value, sum, offsets,
                                        sizes, strides);
  }
  return sum;
}

Value ReverseSweep::total(Value value) {
  auto found = parts.find(value);
  if (found == parts.end())
    return nullptr;
  Location loc = value.getLoc();
  Value whole;
  SmallVector<Part> slices;
  for (const Part &part : found->second)
    if (part.offsets.empty())
      whole = sumOf(loc, whole, part.value);
    else
      slices.push_back(part);
  if (!slices.empty())
    whole =
        assemble(loc, whole, slices, cast<RankedTensorType>(value.getType()));
  // Who asks again gets the same.
  found->second.assign({Part{whole, {}}});
  return whole;
}

LogicalResult ReverseSweep::run(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    auto has = [&](Value result) { return parts.contains(result); };
    auto isWanted = [&](Value operand) { return wanted.contains(operand); };
    if (llvm::none_of(op->getResults(), has))
      continue;
    if (llvm::any_of(capturedBy(op), isWanted))
      return op->emitOpError(
          "differentiate_c3: its body reads a value that is no operand of it, "
          "and only operands have derivatives; make it an operand, or keep "
          "gradients from it by cp.stop_gradient");
    if (llvm::none_of(op->getOperands(), isWanted))
      continue;
    AdjointContext context(*this, op);
    auto adjoint = dyn_cast<AdjointOpInterface>(op);
    if (!adjoint)
      return op->emitOpError("differentiate_c3: has no derivative; ")
             << adviceWithoutAdjoint(op);
    if (failed(adjoint.buildAdjoint(context)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

OpBuilder &AdjointContext::getBuilder() { return sweep.builder; }
Location AdjointContext::getLoc() { return op->getLoc(); }

Value AdjointContext::wideCotangent(unsigned result) {
  return sweep.total(op->getResult(result));
}

Value AdjointContext::cotangent(unsigned result) {
  Value value = wideCotangent(result);
  Type element = getElementTypeOrSelf(op->getResult(result));
  return value ? withElements(sweep.builder, getLoc(), value, element) : value;
}

Value AdjointContext::cotangentOrZeros(unsigned result) {
  Value value = cotangent(result);
  return value ? value
               : zerosOf(sweep.builder, getLoc(),
                         op->getResult(result).getType());
}

bool AdjointContext::isWanted(unsigned operand) {
  return sweep.wanted.contains(op->getOperand(operand));
}

void AdjointContext::add(unsigned operand, Value value) {
  sweep.add(op->getOperand(operand), {value, {}});
}

void AdjointContext::addTo(Value value, Value cotangent) {
  sweep.add(value, {cotangent, {}});
}

void AdjointContext::addSlice(unsigned operand, Value value,
                              ArrayRef<int64_t> offsets) {
  sweep.add(op->getOperand(operand), {value, SmallVector<int64_t>(offsets)});
}

} // namespace cp
