//===- PrepareEntry.cpp - The caller owns every buffer ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "ControlFlow.h"
#include "SplitReads.h"
#include "Views.h"

#include "cp/IR/CPDialect.h"
#include "cp/IR/ShardingAdvice.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {
#define GEN_PASS_DEF_PREPAREENTRY
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct PrepareEntry : impl::PrepareEntryBase<PrepareEntry> {
  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (!llvm::hasSingleElement(function.getFunctionBody())) {
      function->emitOpError("must have one block to be an entry point");
      return signalPassFailure();
    }
    if (failed(refuseControlFlow(function, "entry_c1")) ||
        failed(refuseUnlowered(function)))
      return signalPassFailure();
    dropEmptyLoops(function);
    separateInits(function);
    FailureOr<SmallVector<BlockArgument>> updated = findUpdates(function);
    if (failed(updated))
      return signalPassFailure();
    sinkNewValues(function, *updated);
    if (failed(refuseReadsBehind(function, *updated)))
      return signalPassFailure();
    splitReads(function);
    if (failed(moveResults(function, *updated)))
      return signalPassFailure();
    Attribute no = BoolAttr::get(&getContext(), false);
    setArgumentAttrs(function,
                     bufferization::BufferizationDialect::kWritableAttrName,
                     [&](unsigned i) {
                       Type type = function.getArgumentTypes()[i];
                       return isa<TensorType>(type) ? no : Attribute();
                     });
  }

private:
  /// Upstream makes no loops of these; it says so late, or not at all.
  static LogicalResult refuseUnlowered(FunctionOpInterface function) {
    for (Operation &op : function.getFunctionBody().getOps())
      if (isa<linalg::SoftmaxOp, linalg::WinogradFilterTransformOp,
              linalg::WinogradInputTransformOp,
              linalg::WinogradOutputTransformOp, tensor::GatherOp,
              tensor::ScatterOp>(op))
        return op.emitOpError("entry_c2: has no form as a call or a loop; ")
               << shardingAdvice(op.getName().getStringRef());
    return success();
  }

  /// Loops that never run give what was there: those over tensors without
  /// elements, whose buffers have no strides, and sums of nothing.
  static void dropEmptyLoops(FunctionOpInterface function) {
    for (Operation &op :
         llvm::make_early_inc_range(function.getFunctionBody().front())) {
      auto loops = dyn_cast<linalg::LinalgOp>(op);
      if (!loops || !loops.hasPureTensorSemantics() ||
          !llvm::is_contained(loops.getStaticLoopRanges(), 0))
        continue;
      op.replaceAllUsesWith(ValueRange(loops.getDpsInits()));
      op.erase();
    }
  }

  /// What an op writes to is its own. Of a tensor without values, or of one
  /// value, that several ops write to, each would get a copy, and bufferization
  /// would hold every one of them against every other.
  static void separateInits(FunctionOpInterface function) {
    for (Operation &op : function.getFunctionBody().front())
      if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
        for (OpOperand &init : writer.getDpsInitsMutable())
          separate(init);
      else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
        separate(insert.getDestMutable());
  }

  static void separate(OpOperand &init) {
    Operation *origin = init.get().getDefiningOp();
    if (!isa_and_present<tensor::EmptyOp, linalg::FillOp>(origin) ||
        init.get().hasOneUse())
      return;
    OpBuilder builder(init.getOwner());
    Operation *own = builder.clone(*origin);
    init.set(own->getResult(0));
    if (auto fill = dyn_cast<linalg::FillOp>(own)) {
      builder.setInsertionPoint(fill);
      separate(fill.getDpsInitsMutable()[0]);
    }
  }

  /// The argument that each result is the new value of; null for other results.
  static FailureOr<SmallVector<BlockArgument>>
  findUpdates(FunctionOpInterface function) {
    ArgumentNames arguments(function);
    SmallVector<BlockArgument> updated;
    llvm::SmallDenseMap<BlockArgument, unsigned> known;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, updatesAttr);
      BlockArgument argument = name ? arguments.find(name) : BlockArgument();
      updated.push_back(argument);
      if (!name)
        continue;
      auto error = [&]() {
        return function->emitOpError("entry_c3: result ")
               << i << " updates '" << name.getValue() << "', ";
      };
      if (!argument)
        return error() << "but no argument has that name";
      if (argument.getType() != function.getResultTypes()[i])
        return error() << "a " << argument.getType() << ", but is "
                       << function.getResultTypes()[i];
      auto [entry, isNew] = known.try_emplace(argument, i);
      if (!isNew)
        return error() << "as result " << entry->second
                       << " does; return one new value of an argument";
    }
    return updated;
  }

  /// The argument that a value is, or is a view of; null for others.
  static BlockArgument argumentOf(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!viewOf(op))
        return {};
      value = op->getOperand(0);
    }
    return cast<BlockArgument>(value);
  }

  /// A new value that no op makes is copied where the old one was at the end,
  /// where other results may be read of that.
  static LogicalResult refuseReturnOfOld(FunctionOpInterface function,
                                         Operation *terminator,
                                         unsigned updating,
                                         BlockArgument argument) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (i != updating && argumentOf(value) == argument)
        return function->emitOpError("entry_c3: result ")
               << i << " is the old value of argument '"
               << nameOf(function, argument.getArgNumber()).getValue()
               << "', where result " << updating
               << " is written; return a value that an op makes of it";
    return success();
  }

  /// Whether somebody reads the argument behind the op.
  static bool isReadBehind(BlockArgument argument, Operation *op) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return user->getBlock() == op->getBlock() && op->isBeforeInBlock(user) &&
             !user->hasTrait<OpTrait::IsTerminator>();
    });
  }

  /// A new value that is a constant stands in front of all ops, and one that is
  /// computed for somebody else too where that was first; both are written
  /// behind whoever reads the old one.
  static void sinkNewValues(FunctionOpInterface function,
                            ArrayRef<BlockArgument> updated) {
    Operation *terminator = function.getFunctionBody().front().getTerminator();
    for (auto [i, argument] : llvm::enumerate(updated)) {
      OpOperand &operand = terminator->getOpOperand(unsigned(i));
      Operation *op = argument ? operand.get().getDefiningOp() : nullptr;
      auto loop = dyn_cast_if_present<linalg::LinalgOp>(op);
      if (!op || !(op->hasTrait<OpTrait::ConstantLike>() ||
                   (loop && op->getNumResults() == 1 &&
                    linalg::isElementwise(loop) && isReadBehind(argument, op))))
        continue;
      OpBuilder builder(terminator);
      operand.set(builder.clone(*op)->getResult(0));
      if (op->use_empty())
        op->erase();
    }
  }

  /// Whoever reads an argument behind the op that makes its new value would see
  /// that.
  static LogicalResult refuseReadsBehind(FunctionOpInterface function,
                                         ArrayRef<BlockArgument> updated) {
    Block &body = function.getFunctionBody().front();
    DenseMap<Operation *, size_t> numbers;
    for (auto [index, op] : llvm::enumerate(body))
      numbers[&op] = index;
    for (auto [i, argument] : llvm::enumerate(updated)) {
      Value result = body.getTerminator()->getOperand(unsigned(i));
      Operation *update = argument ? result.getDefiningOp() : nullptr;
      if (argument && !update &&
          failed(refuseReturnOfOld(function, body.getTerminator(), unsigned(i),
                                   argument)))
        return failure();
      SmallVector<Value> values;
      if (update)
        values.push_back(argument);
      // Views of it grow the list as it is read.
      for (size_t i = 0; i < values.size(); ++i)
        for (Operation *reader : values[i].getUsers()) {
          if (numbers.lookup(reader) > numbers.lookup(update))
            return reader->emitOpError("entry_c3: reads argument '")
                   << nameOf(function, argument.getArgNumber()).getValue()
                   << "' behind the " << update->getName()
                   << " that makes its new value, which is written where the "
                      "old one was; read it before";
          if (Value view = viewOf(reader))
            values.push_back(view);
        }
    }
    return success();
  }

  /// An op that goes element by element writes where it reads.
  static void writeInPlace(Value result, Value argument) {
    auto op = result.getDefiningOp<DestinationStyleOpInterface>();
    if (!op)
      return;
    auto structured = dyn_cast<linalg::LinalgOp>(op.getOperation());
    auto call = dyn_cast<CallOp>(op.getOperation());
    bool isElementwise = structured ? linalg::isElementwise(structured)
                                    : call && call.getElementwise();
    OpOperand *init = op.getTiedOpOperand(cast<OpResult>(result));
    if (isElementwise && init->get().getDefiningOp<tensor::EmptyOp>())
      init->set(argument);
  }

  /// An argument with a new value is a buffer that is read and written.
  static Value openArgument(FunctionOpInterface function,
                            BlockArgument argument) {
    auto tensor = cast<RankedTensorType>(argument.getType());
    OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
    argument.setType(
        MemRefType::get(tensor.getShape(), tensor.getElementType()));
    auto value = bufferization::ToTensorOp::create(
        builder, function.getLoc(), tensor, argument, /*restrict=*/true,
        /*writable=*/true);
    argument.replaceAllUsesExcept(value, value);
    return value;
  }

  /// Where each result goes: new values of arguments where the old ones were,
  /// and others to buffers of their own.
  static LogicalResult moveResults(FunctionOpInterface function,
                                   ArrayRef<BlockArgument> updated) {
    Block &body = function.getFunctionBody().front();
    Operation *terminator = body.getTerminator();
    SmallVector<Type> buffers;
    for (auto [result, argument] :
         llvm::zip_equal(terminator->getOperands(), updated)) {
      auto tensor = dyn_cast<RankedTensorType>(result.getType());
      if (!tensor || !tensor.hasStaticShape())
        return function->emitOpError("must return tensors of known sizes, but "
                                     "returns ")
               << result.getType();
      if (!argument)
        buffers.push_back(
            MemRefType::get(tensor.getShape(), tensor.getElementType()));
    }
    // All at once: a type for each number of arguments would be kept.
    unsigned first = function.getNumArguments(), count = buffers.size();
    if (failed(function.insertArguments(
            SmallVector<unsigned>(count, first), buffers,
            SmallVector<DictionaryAttr>(count),
            SmallVector<Location>(count, function.getLoc()))))
      return failure();
    for (auto [i, argument] : llvm::enumerate(updated))
      if (argument) {
        Value old = openArgument(function, argument);
        writeInPlace(terminator->getOperand(i), old);
      }
    function.setType(function.cloneTypeWith(body.getArgumentTypes(),
                                            function.getResultTypes()));
    OpBuilder builder(terminator);
    for (auto [result, argument] :
         llvm::zip_equal(terminator->getOperands(), updated))
      bufferization::MaterializeInDestinationOp::create(
          builder, terminator->getLoc(), TypeRange(), result,
          argument ? argument : function.getArgument(first++),
          /*restrict=*/true, /*writable=*/true);
    BitVector all(function.getNumResults(), true);
    terminator->setOperands({});
    return function.eraseResults(all);
  }
};

} // namespace
} // namespace cp
