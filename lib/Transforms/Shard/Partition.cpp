//===- Partition.cpp - From whole tensors to one rank's ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "Explain/ReshardRemarks.h"
#include "Shard/DocumentsAlike.h"
#include "ZigzagParts.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Iterators.h"
#include "llvm/Support/MathExtras.h"

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
  ShardingRule rule;
  MeshAttr mesh;
  std::vector<Cut> cuts;
  /// How many parts of the sequence a rank has, for windows and scans.
  int64_t parts;
};

/// The cuts over several ranks: on one all orders are the same.
std::vector<Cut> realCuts(const CutSequence &sequence) {
  std::vector<Cut> cuts;
  llvm::copy_if(sequence.cuts, std::back_inserter(cuts), [&](const Cut &cut) {
    return sequence.mesh.getSizes()[cut.axis] > 1;
  });
  return cuts;
}

/// How the sequence that `op` depends along is cut, from the types before they
/// become local. Over axes of one rank it is not: nothing comes from elsewhere.
FailureOr<CutSequence> cutOf(SequenceOpInterface op) {
  auto rules = cast<ShardingRuleOpInterface>(op.getOperation());
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule))
    return failure();
  FactorCuts cuts;
  CutSequence result{op, *rule, {}, {}, 1};
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
  if (realCuts(result).empty())
    result.cuts.clear();
  return result;
}

LogicalResult refuseOrder(CutSequence &sequence) {
  auto error =
      sequence.op->emitOpError("partition_c1: the sequence is cut over ");
  llvm::interleave(
      sequence.cuts,
      [&](const Cut &cut) {
        error << sequence.mesh.getNames()[cut.axis] << " ("
              << orderName(cut.order) << ")";
      },
      [&] { error << " and "; });
  return error << "; this op runs on contiguous cuts, or on one zigzag cut "
                  "alone: reshard the sequence to contiguous or zigzag order, "
                  "and cut heads or channels over further axes";
}

/// Finds out how many parts a rank has; fails when the order is not served.
LogicalResult findParts(CutSequence &sequence) {
  std::vector<Cut> cuts = realCuts(sequence);
  std::optional<int64_t> parts = partsPerRank(cuts);
  if (!parts)
    return refuseOrder(sequence);
  if (*parts == 1) {
    sequence.cuts = inContiguousOrder(sequence.cuts);
    return success();
  }
  sequence.cuts = cuts;
  sequence.parts = *parts;
  return checkZigzagParts(sequence.op, sequence.rule);
}

/// A window's halo must have a size.
LogicalResult checkHalo(const CutSequence &sequence, WindowOpInterface op) {
  int64_t size;
  if (!llvm::MulOverflow(op.getWindowRows(), sequence.parts, size))
    return success();
  return op->emitOpError("partition_c2: a window of ")
         << op.getWindowRows() << " rows, for each of the " << sequence.parts
         << " parts of a rank, is beyond 64 bits; make it smaller";
}

/// An op whose sequence is cut must be of one kind.
LogicalResult checkKind(Operation *op) {
  if (needsWholeSequence(op))
    return op->emitOpError("partition_c5: needs its sequence whole, as it has "
                           "none of WindowOpInterface, ScanOpInterface and "
                           "PlacedOpInterface, but the sequence is cut; cut "
                           "its heads or channels instead, or none");
  if (isa<ScanOpInterface>(op) + isa<PlacedOpInterface>(op) +
          isa<WindowOpInterface>(op) >
      1)
    return op->emitOpError("partition_c5: must have one of WindowOpInterface, "
                           "ScanOpInterface and PlacedOpInterface beside "
                           "SequenceOpInterface, as several do not say how it "
                           "depends along the sequence");
  return success();
}

/// Refuses what is not served, before anything is changed.
LogicalResult checkServed(CutSequence &sequence) {
  Operation *op = sequence.op;
  if (sequence.cuts.empty())
    return success();
  if (failed(checkKind(op)))
    return failure();
  auto window = dyn_cast<WindowOpInterface>(op);
  // A window of one row needs no other.
  if (window && window.getWindowRows() == 0)
    return success();
  std::vector<Cut> cuts = realCuts(sequence);
  // In parts that have room for more than they hold nobody knows who is next.
  if (isBySizes(cuts) || !sequence.op.canRunOn(cuts))
    return refuseOrder(sequence);
  if (isa<PlacedOpInterface>(op))
    return success();
  if (failed(findParts(sequence)))
    return failure();
  return window ? checkHalo(sequence, window) : success();
}

/// The dimension of the windows' operand that is the sequence.
int64_t windowDim(const CutSequence &sequence, WindowOpInterface op) {
  const TensorFactors &dims =
      sequence.rule.operands[op.getWindowOperand().getOperandNumber()];
  int64_t factor = op.getSequenceFactor();
  const auto *it = llvm::find_if(dims, [&](const DimFactors &factors) {
    return llvm::is_contained(factors, factor);
  });
  return it - dims.begin();
}

/// A window op reads the rows of other ranks from a halo.
void partitionWindow(const CutSequence &sequence, WindowOpInterface op) {
  int64_t rows = op.getWindowRows(), dim = windowDim(sequence, op);
  if (rows == 0)
    return;
  OpBuilder builder(op);
  Value source = op.getWindowOperand().get();
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = sequence.parts * rows;
  SmallVector<Value> initial;
  if (Value given = op.getInitialRows())
    initial.push_back(given);
  auto halo = HaloOp::create(builder, op.getLoc(), TypeRange{type.clone(shape)},
                             ValueRange{source}, initial, sequence.mesh,
                             localCutsAttr(sequence.mesh, sequence.cuts), dim,
                             HaloRows{rows, op.isReverse()});
  Value others = halo.getResults()[0];
  if (sequence.parts > 1) {
    runOnZigzagParts(sequence.op, sequence.rule);
    others = seenAsParts(builder, others, dim);
  }
  op.setInitialRows(others);
}

/// cp.scan_state tells parts apart by the first dimension.
LogicalResult checkSummary(ScanOpInterface op, const ScanSummary &own,
                           int64_t parts) {
  auto first = cast<RankedTensorType>(own.values.front().getType());
  CombineAttr combine = op.getCombine();
  bool countsBatch = !combine || combine.getBatchDims() > 0;
  if (countsBatch && first.getRank() > 0 && first.getDimSize(0) == parts)
    return success();
  return op->emitOpError("partition_c4: in zigzag order the first dimension of "
                         "a scan's summary must be the batch, of ")
         << parts << " parts here, but its "
         << (combine ? "first tensor is " : "decay is ") << first
         << (countsBatch ? "" : " and its combine counts no batch")
         << "; put the batch first, or reshard the sequence to contiguous "
            "order";
}

/// What a scan says of its ends, before it runs on parts.
struct ScanEnds {
  explicit ScanEnds(ScanOpInterface op)
      : initial(op.getInitialState()), final(op.getFinalState()) {
    if (final && !final.use_empty())
      type = cast<RankedTensorType>(final.getType());
  }

  Value initial, final;
  /// Of the final state; null where nobody uses it.
  RankedTensorType type;
};

/// A scan becomes two halves with a scan over ranks between.
LogicalResult partitionScan(const CutSequence &sequence, ScanOpInterface op) {
  ScanEnds ends(op);
  std::optional<int64_t> parts;
  if (sequence.parts > 1)
    parts = runOnZigzagParts(sequence.op, sequence.rule);
  OpBuilder builder(op);
  ScanSummary own = op.summarize(builder);
  if (own.values.empty())
    return op->emitOpError("partition_c6: the summary of a scan must be one "
                           "tensor or more, but summarize gives none");
  if (parts && failed(checkSummary(op, own, *parts)))
    return failure();
  auto scan = ScanStateOp::create(
      builder, op.getLoc(), own.values, /*hasTotal=*/ends.type != nullptr,
      sequence.mesh, localCutsAttr(sequence.mesh, sequence.cuts),
      op.getScanAlgorithm().value_or(ScanAlgorithm::Chain), op.isReverse(),
      op.getCombine());
  SmallVector<Value> replacements =
      op.apply(builder, own, {SmallVector<Value>(scan.getPrefix()), {}});
  for (auto [result, replacement] :
       llvm::zip_equal(op->getResults(), replacements)) {
    if (result == ends.final && ends.type) {
      Value state = op.advance(builder, scan.getTotal(), ends.initial);
      if (!state)
        return op->emitOpError(
            "partition_c6: its summaries combine in a way of "
            "their own, so it must say by advance what they "
            "do to a state, as its final state is used");
      replacement =
          withElements(builder, op.getLoc(), state, ends.type.getElementType());
    }
    if (replacement)
      result.replaceAllUsesWith(replacement);
    else if (!result.use_empty())
      return refuseResult(result);
  }
  op->erase();
  return success();
}

/// An op that needs to know where its rows stand becomes its local form.
void partitionPlaced(const CutSequence &sequence, PlacedOpInterface op) {
  OpBuilder builder(op);
  op->replaceAllUsesWith(op.place(builder, sequence.mesh, realCuts(sequence)));
  op->erase();
}

LogicalResult partitionSequence(const CutSequence &sequence) {
  Operation *op = sequence.op;
  if (auto scan = dyn_cast<ScanOpInterface>(op))
    return partitionScan(sequence, scan);
  if (auto window = dyn_cast<WindowOpInterface>(op))
    partitionWindow(sequence, window);
  else if (auto placed = dyn_cast<PlacedOpInterface>(op))
    partitionPlaced(sequence, placed);
  return success();
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
    // Users first, so that an op with local results has whole operands.
    function->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      for (OpResult result : op->getResults())
        result.setType(replacer.replace(result.getType()));
      if (auto rules = dyn_cast<ShardingRuleOpInterface>(op))
        rules.localizeSizes();
    });
    for (Block &block : function.getFunctionBody())
      for (BlockArgument arg : block.getArguments())
        arg.setType(replacer.replace(arg.getType()));
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
    std::vector<CutSequence> sequences;
    if (!getAnalysis<LayoutVerification>().succeeded ||
        failed(collectSequences(function, sequences)))
      return signalPassFailure();
    remarkReshards(function);
    DocumentsAlike alike(function);
    Localizer(function).run();
    for (CutSequence &sequence : sequences)
      if (failed(partitionSequence(sequence)))
        return signalPassFailure();
    alike.addTo(function);
    function->setAttr(viewAttr, StringAttr::get(&getContext(), "local"));
  }

private:
  static LogicalResult collectSequences(FunctionOpInterface function,
                                        std::vector<CutSequence> &sequences) {
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
