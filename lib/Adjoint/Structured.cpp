//===- Structured.cpp - Adjoints of linalg ops ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A structured op runs a scalar body over a space of loops. The cotangent of an
// operand is the sum, over those loops that do not index it, of what the body's
// own adjoint gives at each point: again a structured op over the same loops,
// in which the operand's map writes and the results' maps read. A contraction's
// adjoint comes out as a contraction, that of a sum as a broadcast, and the
// other way round.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace cp {
namespace {

/// What a result sums up or gives at each point, and the sum so far.
struct Yielded {
  Value value;
  /// Null where the result is no sum.
  Value sum;
};

/// Fails where a reduction does anything but add to what there is.
FailureOr<Yielded> findYielded(linalg::LinalgOp op, unsigned result) {
  Block *body = op.getBlock();
  Value value = body->getTerminator()->getOperand(result);
  Value sum = op.getRegionOutputArgs()[result];
  if (op.getNumReductionLoops() == 0)
    return Yielded{value, nullptr};
  auto add = value.getDefiningOp<arith::AddFOp>();
  // Another result would depend on where the sum stands.
  if (add && add->hasOneUse() && sum.hasOneUse())
    for (unsigned i : {0, 1})
      if (add->getOperand(i) == sum)
        return Yielded{add->getOperand(1 - i), sum};
  return op->emitOpError("differentiate_c4: reduces by something else than a "
                         "sum ('arith.addf' of the result so far), which has "
                         "no derivative here; write it so that one operand of "
                         "the last addition is the sum, and that nothing but "
                         "the result reads either");
}

/// Whether each element of a result is one that a point of the loops gives.
bool isWrittenWhole(linalg::LinalgOp op, OpOperand &init) {
  auto type = cast<ShapedType>(init.get().getType());
  llvm::SmallBitVector seen(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(&init);
  for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && !seen.test(dim.getPosition()))
      seen.set(dim.getPosition());
    else if (size != 1)
      return false;
  }
  return true;
}

/// A term in the type of the sum it is added to: of a product its factors are
/// widened, so that it is not rounded.
Value widened(OpBuilder &b, Location loc, Value value, Type element) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || value.getType() == element)
    return withElements(b, loc, value, element);
  Value right = withElements(b, loc, product.getRhs(), element);
  Value left = withElements(b, loc, product.getLhs(), element);
  Value wide = arith::MulFOp::create(b, loc, left, right);
  if (product->use_empty())
    product.erase();
  return wide;
}

/// The adjoint of a structured op with respect to one of its operands.
class OperandAdjoint {
public:
  OperandAdjoint(linalg::LinalgOp op, AdjointContext &context,
                 ArrayRef<Yielded> yielded)
      : op(op), context(context), builder(context.getBuilder()),
        yielded(yielded) {}

  LogicalResult build(OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !map.isProjectedPermutation())
      return op->emitOpError("differentiate_c4: operand ")
             << operand.getOperandNumber() << " is read by the map "
             << AffineMapAttr::get(map)
             << ", and only one by which each loop indexes at most one "
                "dimension has a derivative; use tensor.extract_slice, or a "
                "tensor of a dimension less";
    collectInputs();
    bool isSum = collectIterators(map);
    Type element = type.getElementType();
    RankedTensorType out = type;
    if (isSum)
      out = type.clone(sumsOf(element));
    Value start = isSum ? zerosOf(builder, context.getLoc(), out)
                        : emptyOf(builder, context.getLoc(), out);
    maps.push_back(map);
    auto generic = linalg::GenericOp::create(
        builder, context.getLoc(), out, inputs, start, maps, iterators,
        [&](OpBuilder &b, Location loc, ValueRange args) {
          Value value = buildBody(b, loc, args, operand);
          if (isSum)
            value = arith::AddFOp::create(
                b, loc, args.back(),
                widened(b, loc, value, out.getElementType()));
          linalg::YieldOp::create(b, loc, value);
        });
    generic = dropUnused(generic);
    // It has the same weight, and may be cut along it as the projection is.
    if (Attribute parallel = op->getAttr(parallelAttr))
      if (operand.getOperandNumber() == 0)
        generic->setAttr(parallelAttr, parallel);
    context.add(operand.getOperandNumber(), generic.getResult(0));
    return success(!hasFailed);
  }

private:
  /// All operands that the body reads, then the results' cotangents.
  void collectInputs() {
    for (OpOperand &operand : op->getOpOperands())
      if (op.payloadUsesValueFromOperand(&operand) && !isSumSoFar(operand)) {
        arguments[op.getMatchingBlockArgument(&operand)] = inputs.size();
        inputs.push_back(operand.get());
        maps.push_back(op.getMatchingIndexingMap(&operand));
      }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      unsigned result = op.getTiedOpResult(&init).getResultNumber();
      Value cotangent = context.cotangent(result);
      if (!cotangent)
        continue;
      cotangents.push_back({result, inputs.size()});
      inputs.push_back(cotangent);
      maps.push_back(op.getMatchingIndexingMap(&init));
    }
  }

  bool isSumSoFar(OpOperand &operand) {
    return op.isDpsInit(&operand) && op.getNumReductionLoops() > 0;
  }

  /// Loops that the written tensor has not are summed over.
  bool collectIterators(AffineMap map) {
    iterators.assign(op.getNumLoops(), utils::IteratorType::reduction);
    for (AffineExpr expr : map.getResults())
      iterators[cast<AffineDimExpr>(expr).getPosition()] =
          utils::IteratorType::parallel;
    return llvm::is_contained(iterators, utils::IteratorType::reduction);
  }

  /// The body once more, and its adjoint behind it.
  Value buildBody(OpBuilder &b, Location loc, ValueRange args,
                  OpOperand &operand) {
    IRMapping mapping;
    for (auto [argument, input] : arguments)
      mapping.map(argument, args[input]);
    SmallVector<Operation *> ops;
    Block *body = op.getBlock();
    for (Operation &inner : body->without_terminator())
      if (!isLastSum(inner))
        ops.push_back(b.clone(inner, mapping));
    Value wanted = mapping.lookup(op.getMatchingBlockArgument(&operand));
    DenseSet<Value> dependents = findDependents(wanted, ops);
    ReverseSweep sweep(b, dependents);
    for (auto [result, input] : cotangents)
      sweep.seed(mapping.lookupOrDefault(yielded[result].value), args[input]);
    if (failed(sweep.run(ops)))
      hasFailed = true;
    Value total = hasFailed ? Value() : sweep.total(wanted);
    Value value = total ? total : zerosOf(b, loc, wanted.getType());
    for (Operation *inner : llvm::reverse(ops))
      if (isOpTriviallyDead(inner))
        inner->erase();
    return value;
  }

  bool isLastSum(Operation &inner) {
    return llvm::any_of(yielded, [&](const Yielded &found) {
      return found.sum && *found.sum.user_begin() == &inner;
    });
  }

  /// Without inputs that the body does not read, but where loops' sizes are
  /// told by them alone.
  linalg::GenericOp dropUnused(linalg::GenericOp generic) {
    SmallVector<Value> kept;
    SmallVector<AffineMap> keptMaps;
    llvm::BitVector unused(generic.getBody()->getNumArguments());
    for (OpOperand *input : generic.getDpsInputOperands()) {
      if (generic.getMatchingBlockArgument(input).use_empty()) {
        unused.set(input->getOperandNumber());
        continue;
      }
      kept.push_back(input->get());
      keptMaps.push_back(generic.getMatchingIndexingMap(input));
    }
    keptMaps.push_back(maps.back());
    if (unused.none() ||
        !inversePermutation(concatAffineMaps(keptMaps, builder.getContext())))
      return generic;
    auto lean = linalg::GenericOp::create(
        builder, generic.getLoc(), generic.getResultTypes(), kept,
        generic.getDpsInits(), keptMaps, iterators);
    lean.getRegion().takeBody(generic.getRegion());
    lean.getBody()->eraseArguments(unused);
    generic.erase();
    return lean;
  }

  linalg::LinalgOp op;
  AdjointContext &context;
  OpBuilder &builder;
  ArrayRef<Yielded> yielded;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  /// Arguments of the body, by input.
  llvm::MapVector<Value, size_t> arguments;
  /// Results that have a cotangent, by input.
  SmallVector<std::pair<unsigned, size_t>> cotangents;
  /// Whether an op of the body has no derivative. Bodies are built by callbacks
  /// that cannot fail.
  bool hasFailed = false;
};

struct Structured : AdjointOpInterface::FallbackModel<Structured> {
  LogicalResult buildAdjoint(Operation *op, AdjointContext &context) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (!structured.hasPureTensorSemantics())
      return op->emitOpError("differentiate_c1: works on buffers, and only "
                             "tensors have derivatives; differentiate the "
                             "program while it is on tensors");
    SmallVector<Yielded> yielded;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      FailureOr<Yielded> found = findYielded(structured, i);
      if (failed(found))
        return failure();
      yielded.push_back(*found);
    }
    for (OpOperand &operand : op->getOpOperands()) {
      if (!context.isWanted(operand.getOperandNumber()))
        continue;
      if (structured.isDpsInit(&operand) &&
          !isWrittenWhole(structured, operand) &&
          structured.getNumReductionLoops() == 0)
        return op->emitOpError("differentiate_c4: leaves elements of operand ")
               << operand.getOperandNumber() << " as they are, by the map "
               << AffineMapAttr::get(
                      structured.getMatchingIndexingMap(&operand))
               << ", and only what is written whole has a derivative here; use "
                  "tensor.insert_slice";
      if (!structured.payloadUsesValueFromOperand(&operand))
        continue;
      // A sum passes its cotangent on to what it started from.
      if (structured.isDpsInit(&operand) &&
          structured.getNumReductionLoops() > 0) {
        context.add(
            operand.getOperandNumber(),
            context.cotangent(
                structured.getTiedOpResult(&operand).getResultNumber()));
        continue;
      }
      OperandAdjoint adjoint(structured, context, yielded);
      if (failed(adjoint.build(operand)))
        return failure();
    }
    return success();
  }
};

} // namespace

void registerStructuredAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (name.getDialectNamespace() == "linalg" &&
          name.hasInterface<linalg::LinalgOp>())
        name.attachInterface<Structured>();
  });
}

} // namespace cp
