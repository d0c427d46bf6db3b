//===- VerifyLayouts.cpp - Check layouts op by op ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnknownDivisor.h"
#include "cp/IR/ShardingAdvice.h"
#include "cp/Transforms/Passes.h"

namespace cp {
#define GEN_PASS_DEF_VERIFYLAYOUTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Checks one op against its rule.
class OpChecker {
public:
  explicit OpChecker(Operation *op) : op(op) {}

  LogicalResult run() {
    if (failed(everyTensorHasLayout()))
      return failure();
    if (isa<ReshardOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        tensors.empty() || replicasOfOneMesh())
      return success();
    auto rules = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rules)
      return seesReplicasOnly();
    FailureOr<ShardingRule> found = rules.getShardingRule();
    if (failed(found))
      return failure();
    rule = *found;
    if (failed(collect()) || failed(noAxisTwice()) || failed(noSumsOfRoom()) ||
        failed(noDivisionsByRoom()) || failed(noMixedDocuments()))
      return failure();
    return success(succeeded(correspond()) && succeeded(partialSums()));
  }

private:
  /// A tensor value of the op, and where its factors are.
  struct Tensor {
    LayoutAttr layout;
    bool isResult;
    unsigned index;

    std::string what() const {
      return (isResult ? "result " : "operand ") + std::to_string(index);
    }
  };

  /// Such an op is right by any rule.
  bool replicasOfOneMesh() const {
    return llvm::all_of(tensors, [&](const Tensor &tensor) {
      return tensor.layout.isReplicated() &&
             tensor.layout.getMesh() == tensors.front().layout.getMesh();
    });
  }

  LogicalResult everyTensorHasLayout() {
    auto add = [&](Value value, bool isResult,
                   unsigned index) -> LogicalResult {
      if (!isa<RankedTensorType>(value.getType()))
        return success();
      tensors.push_back({LayoutAttr::of(value.getType()), isResult, index});
      if (!tensors.back().layout)
        return op->emitOpError("verify_c1: ")
               << tensors.back().what()
               << " has no layout, in a function with layouts; run "
               << "cp-assign-layouts, or give it one by a cp.reshard";
      return success();
    };
    for (auto [index, value] : llvm::enumerate(op->getOperands()))
      if (failed(add(value, false, index)))
        return failure();
    for (auto [index, value] : llvm::enumerate(op->getResults()))
      if (failed(add(value, true, index)))
        return failure();
    return success();
  }

  LogicalResult seesReplicasOnly() {
    for (const Tensor &tensor : tensors)
      if (!tensor.layout.isReplicated())
        return op->emitOpError("verify_c2: has no sharding rule, but ")
               << tensor.what() << " is not replicated (" << tensor.layout
               << "); " << withoutRule(op)
               << ", or gather the value by a cp.reshard";
    return success();
  }

  const TensorFactors &factorsOf(const Tensor &tensor) {
    return tensor.isResult ? rule.results[tensor.index]
                           : rule.operands[tensor.index];
  }

  LogicalResult collect() {
    mesh = tensors.front().layout.getMesh();
    cuts.factors.resize(rule.sizes.size());
    for (const Tensor &tensor : tensors) {
      if (tensor.layout.getMesh() != mesh)
        return op->emitOpError("verify_c4: ")
               << tensor.what() << " is on another mesh (" << tensor.layout
               << ") than " << tensors.front().what() << " ("
               << tensors.front().layout << ")";
      if (tensor.layout.isReplicated())
        continue;
      std::optional<int64_t> dim =
          collectCuts(rule, factorsOf(tensor), tensor.layout.toLayout(), cuts);
      if (!dim)
        continue;
      if (factorsOf(tensor)[*dim].empty())
        return op->emitOpError("verify_c3: dimension ")
               << *dim << " of " << tensor.what()
               << " cannot be cut for this op, but its layout is "
               << tensor.layout;
      return op->emitOpError("verify_c4: dimension ")
             << *dim << " of " << tensor.what() << " is cut unlike the others, "
             << "or through a group of elements that belong together: "
             << tensor.layout;
    }
    return success();
  }

  LogicalResult noAxisTwice() {
    llvm::SmallDenseSet<int> seen;
    for (const std::vector<Cut> &factor : cuts.factors)
      for (const Cut &cut : factor)
        if (!seen.insert(cut.axis).second)
          return op->emitOpError("verify_c5: axis \"")
                 << mesh.toMesh().axes[cut.axis].name
                 << "\" cuts two dimensions that do not correspond";
    return success();
  }

  /// What parts only have room for must not be added up.
  LogicalResult noSumsOfRoom() {
    for (auto [factor, factorCuts] : llvm::enumerate(cuts.factors))
      if (isBySizes(factorCuts) && rule.isSummed(factor))
        return op->emitOpError("verify_c7: adds up over a dimension that axis "
                               "\"")
               << mesh.toMesh().axes[factorCuts[0].axis].name
               << "\" cuts by sizes, where parts have room for more than they "
                  "hold; reshard the operands to another order first";
    return success();
  }

  /// Nor must integers be divided by it.
  LogicalResult noDivisionsByRoom() {
    auto hasRoom = [](const std::vector<Cut> &factor) {
      return isBySizes(factor);
    };
    if (llvm::any_of(cuts.factors, hasRoom) && hasUnknownDivisor(op))
      return op->emitOpError(
          "verify_c9: divides integers, by what may be 0 where parts by sizes "
          "have room for more than they hold; reshard the operands to another "
          "order first");
    return success();
  }

  /// Rows that lie in another order in each element of the batch meet those of
  /// their own element alone.
  LogicalResult noMixedDocuments() {
    for (auto [factor, factorCuts] : llvm::enumerate(cuts.factors))
      if (!factorCuts.empty() && isPerDocument(factorCuts.front()) &&
          !rule.isBatchwise(factor))
        return op->emitOpError("verify_c8: axis \"")
               << mesh.toMesh().axes[factorCuts[0].axis].name
               << "\" cuts by documents, which each element of the batch has "
                  "of "
                  "its own, what the op does not take element by element; "
                  "reshard the operands to another order first";
    return success();
  }

  /// Every tensor is cut wherever a factor of it is. (Its own cuts have been
  /// compared by collect.)
  LogicalResult correspond() {
    for (const Tensor &tensor : tensors)
      for (auto [dim, have, factors] :
           llvm::enumerate(tensor.layout.getCuts(), factorsOf(tensor)))
        if (have.empty() && !factors.empty() &&
            !cuts.factors[factors.front()].empty())
          return op->emitOpError("verify_c4: dimension ")
                 << dim << " of " << tensor.what() << " must be cut as in "
                 << wanted(tensor) << ", but its layout is " << tensor.layout;
    return success();
  }

  LayoutAttr wanted(const Tensor &tensor) {
    return LayoutAttr::get(op->getContext(), layoutFor(rule, factorsOf(tensor),
                                                       cuts, mesh.toMesh()));
  }

  LogicalResult partialSums() {
    for (int axis = 0, e = mesh.getSizes().size(); axis < e; ++axis)
      if (failed(partialSum(axis)))
        return failure();
    return success();
  }

  static bool isPartial(const Tensor &tensor, int axis) {
    return llvm::is_contained(tensor.layout.getPartial(), axis);
  }

  bool cutsSum(unsigned result, int axis) {
    return llvm::any_of(rule.sumsOf(result), [&](int64_t factor) {
      return llvm::any_of(cuts.factors[factor],
                          [&](const Cut &cut) { return cut.axis == axis; });
    });
  }

  InFlightDiagnostic wrongSum(int axis) {
    return op->emitOpError("verify_c6: over axis \"")
           << mesh.toMesh().axes[axis].name << "\" ";
  }

  /// What one axis makes of a result, by the tables of Reduction.h.
  FailureOr<Sum> sumOfResult(unsigned result, int axis) {
    SmallVector<Sum> operands(op->getNumOperands(), Sum::Replicated);
    for (const Tensor &tensor : tensors)
      if (!tensor.isResult && isPartial(tensor, axis))
        operands[tensor.index] = Sum::Partial;
    unsigned culprit = 0;
    std::optional<Sum> sum =
        sumThrough(rule, operands, cutsSum(result, axis), culprit);
    if (sum)
      return *sum;
    if (culprit == operands.size())
      return wrongSum(axis)
             << "adds a partial sum to a full value, or a full one to a sum; "
                "what it starts from (a linalg.fill of zero, say) must be "
                "partial as its result is";
    const auto *tensor = llvm::find_if(tensors, [&](const Tensor &each) {
      return !each.isResult && each.index == culprit;
    });
    return wrongSum(axis)
           << tensor->what()
           << " is a partial sum where the op needs the full value, or full "
              "where other terms are partial; add it up by a cp.reshard: "
           << tensor->layout;
  }

  LogicalResult partialSum(int axis) {
    if (rule.isZero)
      return success();
    auto isResult = [](const Tensor &tensor) { return tensor.isResult; };
    if (llvm::none_of(tensors, isResult))
      return sumOfResult(0, axis);
    for (const Tensor &tensor : llvm::make_filter_range(tensors, isResult)) {
      FailureOr<Sum> sum = sumOfResult(tensor.index, axis);
      if (failed(sum))
        return failure();
      bool partial = *sum == Sum::Partial;
      if (isPartial(tensor, axis) != partial)
        return wrongSum(axis)
               << tensor.what() << (partial ? " must be" : " must not be")
               << " partial, but its layout is " << tensor.layout;
    }
    return success();
  }

  Operation *op;
  SmallVector<Tensor> tensors;
  MeshAttr mesh;
  ShardingRule rule;
  FactorCuts cuts;
};

struct VerifyLayouts : impl::VerifyLayoutsBase<VerifyLayouts> {
  void runOnOperation() override {
    if (!getAnalysis<LayoutVerification>().succeeded)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

LayoutVerification::LayoutVerification(Operation *op)
    : succeeded(llvm::succeeded(verifyLayouts(cast<FunctionOpInterface>(op)))) {
}

LogicalResult verifyLayouts(FunctionOpInterface function) {
  auto view = function->getAttrOfType<StringAttr>(viewAttr);
  if (!view || view != "global")
    return success();
  bool ok = true;
  function.getFunctionBody().walk([&](Operation *op) {
    if (failed(OpChecker(op).run()))
      ok = false;
  });
  return success(ok);
}

} // namespace cp
