//===- ExplainCollectives.cpp - Say what each one moves ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkText.h"
#include "cp/Layout/Saturating.h"
#include "cp/Transforms/Layers.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace cp {
#define GEN_PASS_DEF_EXPLAINCOLLECTIVES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

constexpr StringLiteral category = "collective";

bool isSequenceOp(Operation *op) {
  return isa<SequenceOpInterface, SsdStatesOp, SsdScanOp, AttentionRowsOp>(op);
}

/// Whether a gather gives it the keys of all ranks, for its own queries.
bool gathersKeys(Operation *op) {
  auto grad = dyn_cast<AttentionGradOp>(op);
  return isa<AttentionRowsOp>(op) ||
         (grad && (grad.getPositions() ||
                   grad.getCutStrategy() != CutStrategy::Hidden));
}

/// Why a dimension of a tensor is made whole.
std::string whyWhole(int64_t dim, ArrayRef<Operation *> consumers) {
  std::string names = namesOf(consumers);
  if (llvm::any_of(consumers, isSequenceOp))
    return names + ": heads or channels are cut, needs all of dimension " +
           std::to_string(dim);
  return names + ": works on dimension " + std::to_string(dim) + " as a whole";
}

std::string reasonOf(Operation *op) {
  SmallVector<Operation *> consumers = consumersOf(op);
  std::string names = namesOf(consumers);
  auto number = [](int64_t value) { return std::to_string(value); };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](HaloOp halo) {
        auto [count, isReverse] = halo.getRows();
        return names + ": reads the " + number(count) + " rows " +
               (isReverse ? "behind " : "before ") +
               (partsPerRank(halo.toCuts()) == 1 ? "its own"
                                                 : "each of its two parts");
      })
      .Case([&](ScanStateOp scan) {
        return names + ": starts from the state that " +
               (scan.getReverse() ? "later " : "earlier ") +
               (partsPerRank(scan.toCuts()) == 1 ? "ranks" : "parts") +
               " leave (" + stringifyScanAlgorithm(scan.getAlgorithm()).str() +
               ")";
      })
      .Case([&](RingAttentionOp) {
        return std::string(
            "cp.attention: each query meets the keys and values of "
            "all ranks");
      })
      .Case([&](RingAttentionGradOp) {
        return std::string("cp.attention_grad: keys and values meet all "
                           "queries, and collect their cotangents");
      })
      .Case([&](AllToAllOp exchange) {
        return whyWhole(exchange.getConcatDims().front(), consumers);
      })
      .Case([&](AllGatherOp gather) {
        if (llvm::any_of(consumers, gathersKeys))
          return names + ": each query meets the keys and values of all ranks";
        return whyWhole(gather.getDim(), consumers);
      })
      .Case([&](SliceOp slice) {
        return names + ": works on a part of dimension " +
               number(slice.getDim());
      })
      .Case([&](UnsliceOp unslice) {
        return names + ": adds parts of dimension " + number(unslice.getDim()) +
               " to other sums";
      })
      .Case<AllReduceOp, ReduceScatterOp>(
          [&](auto) { return names + ": needs the sum over the ranks"; })
      .Case([&](ReorderOp reorder) {
        Cut after = jointCut(cutsOf(reorder.getMesh(), reorder.getTo()));
        return names + ": takes its rows in " + orderText(after) + " order";
      })
      .Default([&](Operation *) { return names + ": written by hand"; });
}

/// The layouts of all tensors, equal ones once.
std::string textOf(ArrayRef<Transfer> tensors,
                   std::optional<Layout> Transfer::*which,
                   MLIRContext *context) {
  llvm::SetVector<LayoutAttr> layouts;
  for (const Transfer &tensor : tensors)
    if (tensor.*which)
      layouts.insert(LayoutAttr::get(context, *(tensor.*which)));
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      layouts, os, [&](LayoutAttr layout) { os << cp::textOf(layout); }, " ");
  return text.empty() ? "-" : text;
}

bool hasStaticShapes(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

/// What each rank of the mesh sends; empty where there are too many.
SmallVector<int64_t> bytesByRank(CollectiveOpInterface op) {
  Mesh mesh = op.getMesh().toMesh();
  SmallVector<int64_t> bytes;
  if (mesh.numRanks() > mostExplainedRanks)
    return bytes;
  std::vector<int> axes = axisPositions(op.getMesh(), op.getAxes());
  SmallVector<int64_t> byPosition = op.getBytesSent();
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    bytes.push_back(byPosition[mesh.positionInGroup(rank, axes)]);
  return bytes;
}

/// One kind of collective over one group, as the runtime counts it.
struct Total {
  int64_t calls = 0;
  SmallVector<int64_t> bytesByRank;

  void add(ArrayRef<int64_t> bytes) {
    ++calls;
    bytesByRank.resize(bytes.size());
    for (auto [sum, more] : llvm::zip_equal(bytesByRank, bytes))
      sum = addSaturating(sum, more);
  }
};

struct ExplainCollectives : impl::ExplainCollectivesBase<ExplainCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp function = getOperation();
    if (!wantsRemarks(function) || function.isExternal())
      return;
    Layers layers(function);
    llvm::MapVector<std::pair<StringRef, Attribute>, Total> totals;
    function.walk([&](CollectiveOpInterface op) {
      if (!hasStaticShapes(op))
        return;
      ArrayAttr axes = op.getAxes();
      SmallVector<int64_t> bytes = bytesByRank(op);
      explain(function, op, axes, bytes, layers);
      if (!isa<SliceOp, UnsliceOp>(op))
        totals[{op->getName().stripDialect(), axes}].add(bytes);
    });
    for (auto &[key, total] : totals) {
      auto remark =
          remark::analysis(function.getLoc(), optionsOf(function, "total"));
      if (!remark)
        continue;
      remark << remark::metric("op", key.first)
             << remark::metric("axes", cp::textOf(cast<ArrayAttr>(key.second)))
             << remark::metric("calls", total.calls);
      addBytes(remark, total.bytesByRank);
    }
  }

private:
  static remark::RemarkOpts optionsOf(func::FuncOp function, StringRef name) {
    return remark::RemarkOpts::name(name).category(category).function(
        function.getName());
  }

  static void explain(func::FuncOp function, CollectiveOpInterface op,
                      ArrayAttr axes, ArrayRef<int64_t> bytes,
                      const Layers &layers) {
    auto remark = remark::passed(
        op->getLoc(), optionsOf(function, op->getName().stripDialect()));
    if (!remark)
      return;
    MLIRContext *context = op->getContext();
    SmallVector<Transfer> transfers = op.getTransfers();
    remark << remark::metric("layer", layers.of(op))
           << remark::metric("axes", cp::textOf(axes))
           << remark::metric("from",
                             textOf(transfers, &Transfer::from, context))
           << remark::metric("to", textOf(transfers, &Transfer::to, context))
           << remark::metric("tensors", transfers.size())
           << remark::metric("why", reasonOf(op));
    addBytes(remark, bytes);
  }
};

} // namespace
} // namespace cp
