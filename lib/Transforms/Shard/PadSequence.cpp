//===- PadSequence.cpp - Lengths that ranks do not divide -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PadSequence.h"

#include "PaddedShapes.h"
#include "PaddingMasks.h"
#include "UnknownDivisor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace cp {
namespace {

/// Places within documents, of rows that had this length.
struct PackedPlaces {
  PositionsOp op;
  int64_t length;
};

class SequencePadder {
public:
  SequencePadder(FunctionOpInterface function, const Sharding &sharding)
      : function(function), sharding(sharding), shapes(function) {}

  LogicalResult run() {
    if (failed(padArguments()))
      return failure();
    if (!any)
      return success();
    if (failed(shapes.spread()))
      return failure();
    for (Operation &op :
         function.getFunctionBody().front().without_terminator())
      if (failed(check(&op)))
        return failure();
    if (failed(keepLengths()))
      return failure();
    shapes.apply();
    for (const MaskedRows &rows : masks)
      mask(rows);
    for (const MaskedLoop &loop : loops)
      maskLoop(loop);
    for (const PackedPlaces &places : ofDocuments)
      addDocument(places);
    Block &body = function.getFunctionBody().front();
    function.setType(function.cloneTypeWith(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    return success();
  }

private:
  LogicalResult padArguments();
  LogicalResult check(Operation *op);
  bool needsAllRows(Operation *op, const ShardingRule &rule);
  LogicalResult checkSums(Operation *op, const PaddedFactors &factors);
  bool maskPayload(Operation *op, int64_t factor, int64_t length);
  bool maskOperand(Operation *op, const ShardingRule &rule, int64_t factor);
  LogicalResult checkSequence(SequenceOpInterface op,
                              const PaddedFactors &factors);
  LogicalResult maskWindow(WindowOpInterface op, const PaddedFactors &factors);
  void maskIds(OpOperand &ids);
  LogicalResult refuse(Operation *op, const Twine &why);
  LogicalResult keepLengths();
  void addDocument(const PackedPlaces &places);
  static Value withDocument(ImplicitLocOpBuilder &b, Value lists,
                            int64_t tokens);
  void remark(int64_t length, int64_t padded);

  FunctionOpInterface function;
  const Sharding &sharding;
  PaddedShapes shapes;
  bool any = false;
  SmallVector<MaskedRows> masks;
  SmallVector<MaskedLoop> loops;
  SmallVector<PackedPlaces> ofDocuments;
  /// By the lists that there were, and the tokens of padding.
  DenseMap<std::pair<Value, int64_t>, Value> longerLists;
};

//===----------------------------------------------------------------------===//
// What gets longer
//===----------------------------------------------------------------------===//

void SequencePadder::remark(int64_t length, int64_t padded) {
  auto remark = remark::missed(
      function->getLoc(),
      remark::RemarkOpts::name("length").category("cut").function(
          cast<SymbolOpInterface>(function.getOperation()).getName()));
  if (remark)
    remark << remark::metric("tokens", length)
           << remark::metric("ranks", partsOf(sharding.mesh, sharding.rows()))
           << remark::metric("of_padding", padded - length);
}

LogicalResult SequencePadder::padArguments() {
  // Beyond, nobody has the memory, and sizes are no longer sure to fit.
  constexpr int64_t most = int64_t(1) << 40;
  std::vector<Cut> rows = sharding.rows();
  llvm::SmallDenseSet<int64_t> told;
  for (BlockArgument arg : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    auto dim = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                      sequenceAttr);
    if (!type || !dim || LayoutAttr::of(type) || dim.getInt() < 0 ||
        dim.getInt() >= type.getRank() || type.isDynamicDim(dim.getInt()))
      continue;
    int64_t length = type.getDimSize(dim.getInt());
    int64_t padded = paddedSize(sharding.mesh, rows, length);
    if (padded == length)
      continue;
    // A sequence that gets so many times as long was not meant.
    constexpr int64_t mostGrowth = 8;
    int64_t parts = partsOf(sharding.mesh, rows);
    if (padded > most || padded / mostGrowth > std::max(length, parts))
      return function->emitOpError("assign_c1: the sequence of argument ")
             << arg.getArgNumber() << " (" << length << " tokens) would be "
             << padded
             << " tokens for its cuts to divide it; give them smaller units";
    any = true;
    shapes.pad(arg, dim.getInt(), padded);
    if (told.insert(length).second)
      remark(length, padded);
  }
  return success();
}

/// Callers have what there was.
LogicalResult SequencePadder::keepLengths() {
  Builder b(function.getContext());
  auto lengthOf = [&](Value value, int64_t dim) {
    return b.getI64IntegerAttr(
        cast<RankedTensorType>(value.getType()).getDimSize(dim));
  };
  for (BlockArgument arg : function.getArguments())
    if (shapes.isPadded(arg)) {
      auto dim = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                        sequenceAttr);
      function.setArgAttr(arg.getArgNumber(), lengthAttr,
                          lengthOf(arg, dim.getInt()));
    }
  Operation *end = function.getFunctionBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    if (!shapes.isPadded(value))
      continue;
    int64_t dim = 0;
    while (!shapes.isPadded(value, dim))
      ++dim;
    for (int64_t other = dim + 1, e = shapes.of(value).size(); other < e;
         ++other)
      if (shapes.isPadded(value, other))
        return function->emitOpError("pad_sequence_c1: result ")
               << number << " has the tokens of sequences that ranks do not "
               << "divide along dimensions " << dim << " and " << other
               << ", but only one can be its cp.sequence";
    int64_t had = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    if (paddedSize(sharding.mesh, sharding.rows(), had) !=
        shapes.of(value)[dim])
      return function->emitOpError("pad_sequence_c1: result ")
             << number << " has several elements for each token of a sequence "
             << "that ranks do not divide along dimension " << dim
             << "; give tokens a dimension of their own there, or a length "
                "that the ranks divide";
    auto said = function.getResultAttrOfType<IntegerAttr>(number, sequenceAttr);
    if (said && said.getInt() != dim)
      return function->emitOpError("pad_sequence_c1: result ")
             << number << " has a row for each token along dimension " << dim
             << ", but says that its cp.sequence is " << said.getInt();
    function.setResultAttr(number, sequenceAttr, b.getI64IntegerAttr(dim));
    function.setResultAttr(number, lengthAttr, lengthOf(value, dim));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What would see it
//===----------------------------------------------------------------------===//

LogicalResult SequencePadder::refuse(Operation *op, const Twine &why) {
  return op->emitOpError(why)
         << "; give a length that the ranks divide, or pad it before";
}

/// Whether it takes a piece along a dimension, which lies where it did.
static bool takesPiece(Operation *op, int64_t dim) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  return slice && !ShapedType::isDynamic(slice.getStaticOffsets()[dim]) &&
         !ShapedType::isDynamic(slice.getStaticSizes()[dim]);
}

bool SequencePadder::needsAllRows(Operation *op, const ShardingRule &rule) {
  // Keys, which may not be cut, are as long as queries.
  auto placed = dyn_cast<PlacedOpInterface>(op);
  if (placed && placed.isCausal())
    return false;
  auto hasNoFactor = [&](Value value, const TensorFactors &dims) {
    for (auto [dim, along] : llvm::enumerate(dims))
      if (shapes.isPadded(value) && shapes.isPadded(value, dim) &&
          along.empty() && !takesPiece(op, dim))
        return true;
    return false;
  };
  bool needsAll = false;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    needsAll |= hasNoFactor(value, dims);
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    needsAll |= hasNoFactor(value, dims);
  return needsAll;
}

LogicalResult SequencePadder::check(Operation *op) {
  auto isPadded = [&](Value value) { return shapes.isPadded(value); };
  if (llvm::none_of(op->getOperands(), isPadded) &&
      llvm::none_of(op->getResults(), isPadded))
    return success();
  FailureOr<PaddedFactors> factors = shapes.factorsOf(op);
  if (failed(factors))
    return failure();
  if (needsAllRows(op, factors->rule))
    return refuse(op, "pad_sequence_c2: needs all rows of a sequence that "
                      "ranks do not divide, and no more than these");
  if (hasUnknownDivisor(op))
    return refuse(op,
                  "pad_sequence_c4: divides integers, and in the padding of "
                  "a sequence that ranks do not divide by what may be 0");
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    maskIds(embedding.getIdsMutable());
  if (auto loss = dyn_cast<LinearCrossEntropyOp>(op))
    maskIds(loss.getLabelsMutable());
  if (auto sequence = dyn_cast<SequenceOpInterface>(op))
    if (factors->isPadded(sequence.getSequenceFactor()))
      return checkSequence(sequence, *factors);
  return checkSums(op, *factors);
}

/// The dimension along which a tensor has the factor, if it is one.
static std::optional<int64_t> dimOf(const TensorFactors &dims, int64_t factor) {
  for (auto [dim, along] : llvm::enumerate(dims))
    if (along.size() == 1 && along.front() == factor)
      return dim;
  return std::nullopt;
}

/// Makes padding add zeros to a sum over the loop `factor`, if its payload is
/// seen to be one.
bool SequencePadder::maskPayload(Operation *op, int64_t factor,
                                 int64_t length) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !addsUp(generic))
    return false;
  loops.push_back({generic, unsigned(factor), length});
  return true;
}

/// Makes the rows of padding zeros in all operands in which a sum is linear:
/// infinity in one of them would be NaN with the zero of another.
bool SequencePadder::maskOperand(Operation *op, const ShardingRule &rule,
                                 int64_t factor) {
  bool isMasked = false;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    std::optional<int64_t> dim = dimOf(rule.operands[number], factor);
    if (!dim || rule.uses[number] != Use::Additive)
      continue;
    Type element = getElementTypeOrSelf(operand.get().getType());
    masks.push_back(
        {&operand, *dim, rule.sizes[factor], Builder(op).getZeroAttr(element)});
    isMasked = true;
  }
  return isMasked;
}

/// A sum over rows adds zeros for those that are padding.
LogicalResult SequencePadder::checkSums(Operation *op,
                                        const PaddedFactors &factors) {
  llvm::SmallSetVector<int64_t, 2> summed;
  for (OpResult result : op->getResults())
    for (int64_t factor : factors.rule.sumsOf(result.getResultNumber()))
      if (factors.isPadded(factor))
        summed.insert(factor);
  for (int64_t factor : summed)
    if (!maskPayload(op, factor, factors.rule.sizes[factor]) &&
        !maskOperand(op, factors.rule, factor))
      return refuse(op, "pad_sequence_c2: puts together all rows of a "
                        "sequence that ranks do not divide, in a way in "
                        "which zeros may count");
  return success();
}

/// Ids and labels that the program computes may be none of the vocabulary's in
/// padding, where those that it is given are 0.
void SequencePadder::maskIds(OpOperand &ids) {
  // What is shifted up is masked where it comes from.
  if (isa<BlockArgument>(ids.get()) || ids.get().getDefiningOp<ShiftTokensOp>())
    return;
  auto type = cast<RankedTensorType>(ids.get().getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (shapes.isPadded(ids.get(), dim))
      masks.push_back(
          {&ids, dim, type.getDimSize(dim),
           Builder(type.getContext()).getZeroAttr(type.getElementType())});
}

/// A window to the other side sees, behind the last row, what it would see
/// there: rows of one number.
LogicalResult SequencePadder::maskWindow(WindowOpInterface op,
                                         const PaddedFactors &factors) {
  OpOperand &operand = op.getWindowOperand();
  std::optional<int64_t> dim =
      dimOf(factors.rule.operands[operand.getOperandNumber()],
            op.getSequenceFactor());
  Type element = getElementTypeOrSelf(operand.get().getType());
  TypedAttr fill = Builder(op).getZeroAttr(element);
  DenseElementsAttr behind;
  if (Value rows = op.getInitialRows())
    fill = matchPattern(rows, m_Constant(&behind)) && behind.isSplat()
               ? cast<TypedAttr>(behind.getSplatValue<Attribute>())
               : TypedAttr();
  if (!dim || !fill)
    return refuse(op, "pad_sequence_c3: reads rows behind the last one of a "
                      "sequence that ranks do not divide, which are not all "
                      "one constant");
  masks.push_back(
      {&operand, *dim, factors.rule.sizes[op.getSequenceFactor()], fill});
  return success();
}

LogicalResult SequencePadder::checkSequence(SequenceOpInterface op,
                                            const PaddedFactors &factors) {
  if (auto window = dyn_cast<WindowOpInterface>(op.getOperation()))
    return window.isReverse() ? maskWindow(window, factors) : success();
  if (auto positions = dyn_cast<PositionsOp>(op.getOperation());
      positions && positions.getDocuments())
    ofDocuments.push_back(
        {positions, positions.getResult().getType().getDimSize(1)});
  auto placed = dyn_cast<PlacedOpInterface>(op.getOperation());
  if (placed && placed.isCausal())
    return success();
  auto scan = dyn_cast<ScanOpInterface>(op.getOperation());
  if (!scan || scan.isReverse())
    return refuse(op, "pad_sequence_c3: may see rows behind a row's own, of a "
                      "sequence that ranks do not divide (what is derived "
                      "from a program is derived behind cp-prepare-cuts)");
  Value final = scan.getFinalState();
  if (final && !final.use_empty())
    return refuse(op, "pad_sequence_c3: its final state is used, and would be "
                      "that behind the padding of a sequence that ranks do not "
                      "divide");
  return success();
}

//===----------------------------------------------------------------------===//
// What is put in its place
//===----------------------------------------------------------------------===//

/// Padding is one more document, for all places that count in the same ones.
void SequencePadder::addDocument(const PackedPlaces &places) {
  PositionsOp positions = places.op;
  Value lists = positions.getDocuments();
  int64_t tokens =
      positions.getResult().getType().getDimSize(1) - places.length;
  Value &known = longerLists[{lists, tokens}];
  if (!known) {
    OpBuilder builder(positions.getContext());
    builder.setInsertionPointAfterValue(lists);
    ImplicitLocOpBuilder b(positions.getLoc(), builder);
    known = withDocument(b, lists, tokens);
  }
  positions.getDocumentsMutable().assign(known);
}

/// It begins where the list ends, so that one which ends elsewhere than its row
/// still does.
Value SequencePadder::withDocument(ImplicitLocOpBuilder &b, Value lists,
                                   int64_t tokens) {
  auto type = cast<RankedTensorType>(lists.getType());
  auto filledWith = [&](int64_t columns, int64_t value) -> Value {
    auto shape = type.clone({type.getDimSize(0), columns});
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               shape, b.getIntegerAttr(type.getElementType(), value)));
  };
  auto at = [&](int64_t column) {
    return SmallVector<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(column)};
  };
  auto sizeOf = [&](int64_t columns) {
    return SmallVector<OpFoldResult>{b.getIndexAttr(type.getDimSize(0)),
                                     b.getIndexAttr(columns)};
  };
  SmallVector<OpFoldResult> steps(2, b.getIndexAttr(1));
  int64_t columns = type.getDimSize(1);
  Value last = tensor::ExtractSliceOp::create(b, lists, at(columns - 1),
                                              sizeOf(1), steps);
  Value end = arith::AddIOp::create(b, last, filledWith(1, tokens));
  Value longer = tensor::InsertSliceOp::create(
      b, lists, filledWith(columns + 1, 0), at(0), sizeOf(columns), steps);
  return tensor::InsertSliceOp::create(b, end, longer, at(columns), sizeOf(1),
                                       steps);
}

} // namespace

LogicalResult padSequence(FunctionOpInterface function,
                          const Sharding &sharding) {
  return SequencePadder(function, sharding).run();
}

} // namespace cp
