//===- NextTokenLoss.cpp - From logits to a language model's loss ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "NextTokens.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace cp {
#define GEN_PASS_DEF_NEXTTOKENLOSS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Whether an op is `createProjection`'s, of which nothing is added to.
bool isProjection(linalg::ContractOp op) {
  AffineExpr batch, length, out, in;
  bindDims(op.getContext(), batch, length, out, in);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(4, 0, exprs, op.getContext());
  };
  auto fill = op.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  return op.getIndexingMapsArray() ==
             SmallVector<AffineMap>{map({batch, length, in}), map({out, in}),
                                    map({batch, length, out})} &&
         fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

/// Builds the sum or the mean of a batch's losses.
class LossBuilder {
public:
  static constexpr int64_t ignored = -100;

  LossBuilder(OpBuilder &builder, linalg::ContractOp head)
      : b(head.getLoc(), builder), h(head.getInputs()[0]),
        weight(head.getInputs()[1]), type(cast<RankedTensorType>(h.getType())),
        sums(sumsOf(type.getElementType())) {}

  RankedTensorType labelType() {
    return RankedTensorType::get(type.getShape().take_front(2), b.getI32Type());
  }

  /// The sum of the losses, and how many there are.
  std::pair<Value, Value> buildSums(Value labels) {
    auto each = RankedTensorType::get(type.getShape().take_front(2), sums);
    auto losses = LinearCrossEntropyOp::create(b, each, each, h, weight, labels,
                                               /*rows=*/Value(),
                                               /*vocabulary=*/0, ignored);
    Value total = sum(losses.getLosses(), [](OpBuilder &, Location, Value loss,
                                             Type) { return loss; });
    return {total, sum(labels, isLabel)};
  }

  Value buildMean(Value labels) {
    auto [total, count] = buildSums(labels);
    // No labels at all are a loss of 0.
    Value one = arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(count.getType()),
                                  b.getFloatAttr(sums, 1)));
    Value divisor = arith::MaximumFOp::create(b, count, one);
    return arith::DivFOp::create(b, total, divisor);
  }

private:
  static Value isLabel(OpBuilder &nested, Location loc, Value label,
                       Type sums) {
    Value none = arith::ConstantOp::create(
        nested, loc, nested.getIntegerAttr(label.getType(), ignored));
    Value is = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ne,
                                     label, none);
    return arith::UIToFPOp::create(nested, loc, sums, is);
  }

  /// The sum over all tokens of what `map` makes of each element.
  Value sum(Value tokens,
            function_ref<Value(OpBuilder &, Location, Value, Type)> map) {
    Value zero = arith::ConstantOp::create(
        b, DenseElementsAttr::get(RankedTensorType::get({}, sums),
                                  b.getFloatAttr(sums, 0)));
    AffineMap all = b.getMultiDimIdentityMap(2);
    SmallVector<utils::IteratorType> loops(2, utils::IteratorType::reduction);
    return linalg::GenericOp::create(
               b, TypeRange{zero.getType()}, ValueRange{tokens},
               ValueRange{zero},
               ArrayRef<AffineMap>{all, AffineMap::get(2, 0, b.getContext())},
               loops,
               [&](OpBuilder &nested, Location loc, ValueRange args) {
                 Value each = map(nested, loc, args[0], sums);
                 Value next = arith::AddFOp::create(nested, loc, each, args[1]);
                 linalg::YieldOp::create(nested, loc, next);
               })
        .getResult(0);
  }

  ImplicitLocOpBuilder b;
  Value h, weight;
  RankedTensorType type;
  Type sums;
};

struct NextTokenLoss : impl::NextTokenLossBase<NextTokenLoss> {
  using NextTokenLossBase::NextTokenLossBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (failed(replaceLogits(function)))
      signalPassFailure();
  }

private:
  LogicalResult replaceLogits(func::FuncOp function) {
    if (function->hasAttr(viewAttr) ||
        !llvm::hasSingleElement(function.getBody()))
      return function.emitOpError(
          "next_token_loss_c1: has layouts or several blocks; give it the loss "
          "before it is sharded");
    std::optional<unsigned> number = findLogits(function);
    if (!number)
      return function.emitOpError("next_token_loss_c2: no result has cp.name = "
                                  "'")
             << logits
             << "'; name the logits so, or say how they are called by "
             << "cp-next-token-loss=logits=NAME";
    Operation *end = function.getBody().front().getTerminator();
    auto head = end->getOperand(*number).getDefiningOp<linalg::ContractOp>();
    if (!head || !isProjection(head))
      return function.emitOpError("next_token_loss_c3: result '")
             << logits
             << "' must be a projection of hidden states [b, l, d] by "
             << "a weight [v, d] (a linalg.contract into zeros)";
    OpBuilder builder(head);
    LossBuilder loss(builder, head);
    if (!hasTokens(function, loss.labelType()))
      return function.emitOpError("next_token_loss_c4: there are logits of ")
             << loss.labelType().getDimSize(1)
             << " tokens, and no argument with cp.sequence has as many; give "
                "the logits of all tokens";
    FailureOr<Value> labels = makeLabels(function, loss.labelType(), head);
    if (failed(labels))
      return failure();
    if (sums) {
      auto [total, count] = loss.buildSums(*labels);
      end->setOperand(*number, total);
      end->insertOperands(end->getNumOperands(), count);
    } else {
      end->setOperand(*number, loss.buildMean(*labels));
    }
    function.setType(function.cloneTypeWith(function.getArgumentTypes(),
                                            end->getOperandTypes()));
    nameResult(function, *number, "loss");
    if (sums)
      nameResult(function, function.getNumResults() - 1, update::count);
    if (head->use_empty())
      head->erase();
    return success();
  }

  static void nameResult(func::FuncOp function, unsigned result,
                         StringRef name) {
    MLIRContext *context = function.getContext();
    // Of logits, which had a sequence.
    function.removeResultAttr(result, StringAttr::get(context, sequenceAttr));
    function.setResultAttr(result, nameAttr, StringAttr::get(context, name));
  }

  std::optional<unsigned> findLogits(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
          name && name.getValue() == logits)
        return i;
    return std::nullopt;
  }

  /// Whether some argument has a token for each label.
  static bool hasTokens(func::FuncOp function, RankedTensorType labels) {
    return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        sequenceAttr);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      return dim && dim.getInt() == 1 && type && type.getRank() >= 2 &&
             type.getShape().take_front(2) == labels.getShape();
    });
  }

  /// Fails after an error where `name` is that of no argument that will do.
  FailureOr<BlockArgument>
  checkArgument(func::FuncOp function, StringRef option, StringRef name,
                const std::string &wanted,
                function_ref<bool(RankedTensorType)> fits) {
    BlockArgument found = ArgumentNames(function).find(
        StringAttr::get(function.getContext(), name));
    auto type = found ? dyn_cast<RankedTensorType>(found.getType())
                      : RankedTensorType();
    if (type && type.hasStaticShape() && fits(type))
      return found;
    return function.emitOpError("next_token_loss_c5: ")
           << option << " must be the cp.name of an argument of " << wanted
           << ", but is '" << name << "'";
  }

  /// Documents that the program has and the labels would not know of.
  static LogicalResult refuseForgotten(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto init = function.getArgAttrOfType<DictionaryAttr>(i, initAttr);
      auto kind = init ? init.getAs<StringAttr>("kind") : StringAttr();
      if (kind && kind.getValue() == "documents")
        return function.emitOpError("next_token_loss_c5: argument ")
               << i << " is a list of documents, of whose last tokens no label "
               << "may be asked; name it by the option documents, too";
    }
    return success();
  }

  /// The lists for so many rows; null for none.
  FailureOr<BlockArgument> findDocuments(func::FuncOp function, int64_t rows) {
    if (documents.empty())
      return failed(refuseForgotten(function))
                 ? FailureOr<BlockArgument>(failure())
                 : BlockArgument();
    auto fits = [&](RankedTensorType given) {
      return given.getRank() == 2 && given.getDimSize(0) == rows &&
             given.getDimSize(1) > 1 &&
             given.getElementType().isSignlessInteger(32) && documents != ids;
    };
    return checkArgument(
        function, "documents", documents,
        "cu_seqlens, " + std::to_string(rows) + " x (n + 1) i32", fits);
  }

  /// An argument, or by the option made of the ids of the tokens.
  FailureOr<Value> makeLabels(func::FuncOp function, RankedTensorType type,
                              linalg::ContractOp head) {
    if (ids.empty() && documents.empty())
      return addLabels(function, type, head);
    std::string text;
    llvm::raw_string_ostream(text) << type << " or i64, of known sizes";
    auto tokens =
        checkArgument(function, "ids", ids, text, [&](RankedTensorType given) {
          Type element = given.getElementType();
          return given.getShape() == type.getShape() &&
                 (element.isSignlessInteger(32) ||
                  element.isSignlessInteger(64));
        });
    if (failed(tokens))
      return failure();
    FailureOr<BlockArgument> lists =
        findDocuments(function, type.getDimSize(0));
    if (failed(lists))
      return failure();
    OpBuilder builder(head);
    ImplicitLocOpBuilder b(head.getLoc(), builder);
    return buildNextTokens(b, *tokens, *lists, LossBuilder::ignored);
  }

  /// One more argument, the last.
  Value addLabels(func::FuncOp function, RankedTensorType type,
                  linalg::ContractOp head) {
    Builder b(&getContext());
    int64_t rows =
        cast<RankedTensorType>(head.getInputs()[1].getType()).getDimSize(0);
    DictionaryAttr init = b.getDictionaryAttr(
        {b.getNamedAttr("kind", b.getStringAttr("ids")),
         b.getNamedAttr("below", b.getI64IntegerAttr(rows))});
    DictionaryAttr attributes = b.getDictionaryAttr(
        {b.getNamedAttr(nameAttr, b.getStringAttr("labels")),
         b.getNamedAttr(sequenceAttr, b.getI64IntegerAttr(1)),
         b.getNamedAttr(initAttr, init)});
    unsigned number = function.getNumArguments();
    (void)function.insertArgument(number, type, attributes, head.getLoc());
    return function.getArgument(number);
  }
};

} // namespace
} // namespace cp
