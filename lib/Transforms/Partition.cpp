//===- Partition.cpp - From whole tensors to one rank's ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "ReshardRemarks.h"
#include "cp/Transforms/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace cp {
#define GEN_PASS_DEF_PARTITION
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// An op that depends along a sequence which is cut, and the cuts.
struct CutSequence {
  SequenceOpInterface op;
  MeshAttr mesh;
  std::vector<Cut> cuts;
  int64_t localRows;
};

/// How the sequence that `op` depends along is cut, from the types before they
/// become local.
FailureOr<CutSequence> cutOf(SequenceOpInterface op) {
  auto rules = cast<ShardingRuleOpInterface>(op.getOperation());
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule))
    return failure();
  FactorCuts cuts;
  CutSequence result{op, {}, {}, 0};
  auto collect = [&](Type type, const TensorFactors &dims) {
    LayoutAttr layout = LayoutAttr::of(type);
    if (!layout)
      return;
    result.mesh = layout.getMesh();
    if (!layout.isReplicated())
      collectCuts(*rule, dims, layout.toLayout(), cuts);
  };
  for (auto [type, dims] : llvm::zip(op->getOperandTypes(), rule->operands))
    collect(type, dims);
  // An op without operands says by its results alone how it is cut.
  for (auto [type, dims] : llvm::zip(op->getResultTypes(), rule->results))
    collect(type, dims);
  int64_t factor = op.getSequenceFactor();
  if (cuts.factors.empty())
    return result;
  result.cuts = cuts.factors[factor];
  result.localRows = rule->sizes[factor];
  for (const Cut &cut : result.cuts)
    result.localRows /= result.mesh.getSizes()[cut.axis];
  return result;
}

ArrayAttr axisNames(const CutSequence &sequence) {
  SmallVector<Attribute> names;
  for (const Cut &cut : sequence.cuts)
    names.push_back(sequence.mesh.getNames()[cut.axis]);
  return ArrayAttr::get(sequence.mesh.getContext(), names);
}

/// Refuses what is not served, before anything is changed.
LogicalResult checkServed(CutSequence &sequence) {
  SequenceOpInterface op = sequence.op;
  if (op.getSequenceKind() == SequenceKind::Placed)
    return success();
  for (const Cut &cut : sequence.cuts)
    if (cut.order != Order::Contiguous)
      return op->emitOpError("partition_c1: the sequence is cut in ")
             << orderName(cut.order)
             << " order, in which this op cannot run; reshard it to contiguous "
                "order first";
  if (sequence.cuts.empty())
    return success();
  if (op.getSequenceKind() == SequenceKind::Window &&
      op.getWindowRows() > sequence.localRows)
    return op->emitOpError("partition_c2: a halo of ")
           << op.getWindowRows() << " rows is longer than a rank's "
           << sequence.localRows
           << " rows; use fewer ranks or a longer sequence";
  return success();
}

/// A window op reads its earlier rows from a halo.
void partitionWindow(CutSequence &sequence) {
  SequenceOpInterface op = sequence.op;
  int64_t rows = op.getWindowRows();
  if (rows == 0)
    return;
  OpBuilder builder(op);
  Value source = op.getWindowOperand().get();
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = rows;
  SmallVector<Value> initial;
  if (Value given = op.getInitialRows())
    initial.push_back(given);
  auto halo = HaloOp::create(builder, op.getLoc(), TypeRange{type.clone(shape)},
                             ValueRange{source}, initial, sequence.mesh,
                             axisNames(sequence),
                             /*dim=*/1, /*before=*/rows);
  op.setInitialRows(halo.getResults()[0]);
}

/// A scan becomes two halves with a scan over ranks between.
LogicalResult partitionScan(CutSequence &sequence) {
  SequenceOpInterface op = sequence.op;
  OpBuilder builder(op);
  ScanSummary own = op.summarize(builder);
  auto scan = ScanStateOp::create(
      builder, op.getLoc(), own.decay.getType(), own.state.getType(), own.decay,
      own.state, sequence.mesh, axisNames(sequence),
      op.getScanAlgorithm().value_or(ScanAlgorithm::Chain));
  SmallVector<Value> replacements = op.apply(
      builder, own, {scan.getPrefixDecay(), scan.getPrefixState(), {}});
  for (auto [result, replacement] :
       llvm::zip_equal(op->getResults(), replacements)) {
    if (replacement)
      result.replaceAllUsesWith(replacement);
    else if (!result.use_empty())
      return op->emitOpError("partition_c3: result ")
             << result.getResultNumber()
             << " is used, but is not known on every rank when the sequence is "
                "cut; cut heads instead (strategy = \"hidden\")";
  }
  op->erase();
  return success();
}

/// An op that needs to know where its rows stand becomes its local form.
void partitionPlaced(CutSequence &sequence) {
  SequenceOpInterface op = sequence.op;
  OpBuilder builder(op);
  op->replaceAllUsesWith(op.place(builder, sequence.mesh, sequence.cuts));
  op->erase();
}

LogicalResult partitionSequence(CutSequence &sequence) {
  switch (sequence.op.getSequenceKind()) {
  case SequenceKind::Window:
    partitionWindow(sequence);
    return success();
  case SequenceKind::Scan:
    return partitionScan(sequence);
  case SequenceKind::Placed:
    partitionPlaced(sequence);
    return success();
  }
  llvm_unreachable("every kind of sequence is handled above");
}

/// Layouts move from types to attributes of reshards, arguments and results.
class Localizer {
public:
  explicit Localizer(FunctionOpInterface function) : function(function) {
    replacer.addReplacement([](RankedTensorType type) -> std::optional<Type> {
      if (!LayoutAttr::of(type))
        return std::nullopt;
      return LayoutAttr::getLocalType(type);
    });
  }

  void run() {
    keepLayouts();
    function.walk([](ReshardOp op) {
      op.setFromAttr(LayoutAttr::of(op.getSource().getType()));
      op.setToAttr(LayoutAttr::of(op.getResult().getType()));
    });
    for (Block &block : function.getFunctionBody())
      for (BlockArgument arg : block.getArguments())
        arg.setType(replacer.replace(arg.getType()));
    function.getFunctionBody().walk([&](Operation *op) {
      for (OpResult result : op->getResults())
        result.setType(replacer.replace(result.getType()));
    });
    function.getFunctionBody().walk(
        [&](ShardingRuleOpInterface op) { op.localizeSizes(); });
    function.setType(replacer.replace(function.getFunctionType()));
  }

private:
  /// All at once: the list of a model's arguments is long, and each new one
  /// lives as long as the context.
  void keepLayouts() {
    auto layoutsOf = [](ArrayRef<Type> types) {
      return [types](unsigned i) { return LayoutAttr::of(types[i]); };
    };
    setArgumentAttrs(function, layoutAttr,
                     layoutsOf(function.getArgumentTypes()));
    setResultAttrs(function, layoutAttr, layoutsOf(function.getResultTypes()));
  }

  FunctionOpInterface function;
  AttrTypeReplacer replacer;
};

struct Partition : impl::PartitionBase<Partition> {
  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    auto view = function->getAttrOfType<StringAttr>(viewAttr);
    if (!view || view != "global")
      return;
    SmallVector<CutSequence> sequences;
    if (!getAnalysis<LayoutVerification>().succeeded ||
        failed(collectSequences(function, sequences)))
      return signalPassFailure();
    remarkReshards(function);
    Localizer(function).run();
    for (CutSequence &sequence : sequences)
      if (failed(partitionSequence(sequence)))
        return signalPassFailure();
    function->setAttr(viewAttr, StringAttr::get(&getContext(), "local"));
  }

private:
  static LogicalResult
  collectSequences(FunctionOpInterface function,
                   SmallVectorImpl<CutSequence> &sequences) {
    bool ok = true;
    function.walk([&](SequenceOpInterface op) {
      FailureOr<CutSequence> sequence = cutOf(op);
      ok &= succeeded(sequence) && succeeded(checkServed(*sequence));
      if (ok && !sequence->cuts.empty())
        sequences.push_back(*sequence);
    });
    return success(ok);
  }
};

} // namespace
} // namespace cp
