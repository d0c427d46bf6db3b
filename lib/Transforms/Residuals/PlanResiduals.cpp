//===- PlanResiduals.cpp - Less memory for more time ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differentiate/HalfFunction.h"
#include "OpCost.h"
#include "ResidualCut.h"
#include "StepSchedule.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
#define GEN_PASS_DEF_PLANRESIDUALS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

using Ops = llvm::DenseSet<Operation *>;

/// Plans from the one that keeps everything to the one that keeps least, each
/// with more ops to compute again than the one before. From one price of a byte
/// to the next they change layer by layer.
class Plans {
public:
  Plans(func::FuncOp function, const ResidualCut &cut)
      : function(function), cut(cut) {
    llvm::MapVector<StringRef, size_t> numbers;
    for (Operation &op : function.getBody().front())
      if (cut.forward().contains(&op))
        numbers.try_emplace(cut.layerOf(&op), numbers.size());
    for (Operation *op : cut.forward())
      layers[op] = numbers.lookup(cut.layerOf(op));
    numLayers = numbers.size();
    levels.emplace_back();
    constexpr int64_t highest = int64_t(1) << 20;
    for (int64_t price = 1; price <= highest; price *= 2) {
      Ops again = cut.opsAgain(price);
      if (again.size() != levels.back().size())
        levels.push_back(std::move(again));
    }
  }

  size_t count() const { return (levels.size() - 1) * numLayers + 1; }

  /// The first plan whose peak is within the limit, as far as it is found by
  /// going from price to price, and halving within one. With nothing, `least`
  /// is the smallest peak that was seen.
  std::optional<size_t> within(int64_t limit, int64_t &least) const {
    least = peakBytes(0);
    if (least <= limit)
      return 0;
    auto fits = [&](size_t plan) {
      int64_t peak = peakBytes(plan);
      least = std::min(least, peak);
      return peak <= limit;
    };
    for (size_t low = 0; low + 1 < count(); low += numLayers) {
      if (!fits(low + numLayers))
        continue;
      size_t high = low + numLayers;
      while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        (fits(middle) ? high : low) = middle;
      }
      return high;
    }
    // Where the last layer holds more while it is made again than it kept,
    // plans in front of the last one are smaller.
    for (size_t plan = count() - std::min(count(), numLayers); plan < count();
         ++plan)
      if (fits(plan))
        return plan;
    return std::nullopt;
  }

  Ops opsAgain(size_t plan) const {
    if (numLayers == 0)
      return {};
    size_t level = plan / numLayers, next = plan % numLayers;
    Ops again;
    for (Operation *op : levels[level])
      again.insert(op);
    if (next)
      for (Operation *op : levels[level + 1])
        if (layers.lookup(op) < next)
          again.insert(op);
    return again;
  }

  int64_t peakBytes(size_t plan) const {
    return StepSchedule(function, cut.forward(), opsAgain(plan)).peakBytes();
  }

private:
  func::FuncOp function;
  const ResidualCut &cut;
  llvm::DenseMap<Operation *, size_t> layers;
  size_t numLayers = 0;
  std::vector<Ops> levels;
};

struct PlanResiduals : impl::PlanResidualsBase<PlanResiduals> {
  using PlanResidualsBase::PlanResidualsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic() || limit == 0)
      return;
    if (failed(check(function)))
      return signalPassFailure();
    ResidualCut cut(function, exchanges);
    Plans plans(function, cut);
    int64_t most = limit, least;
    std::optional<size_t> plan = plans.within(most, least);
    if (!plan) {
      function.emitOpError("plan_residuals_c2: the limit is ")
          << most << " bytes, but a rank needs at least " << least
          << " at one time however much is computed again; take more ranks or "
             "shorter sequences"
          << (exchanges ? ""
                        : ", or let exchanges be made again too "
                          "(recompute-exchanges of the pipelines, "
                          "--recompute-exchanges of the tools)");
      return signalPassFailure();
    }
    Ops again = plans.opsAgain(*plan);
    StepSchedule schedule(function, cut.forward(), again);
    explain(function, cut, again, plans.peakBytes(0), schedule.peakBytes());
    schedule.apply();
  }

private:
  LogicalResult check(func::FuncOp function) {
    if (limit < 0)
      return function.emitOpError("plan_residuals_c2: the limit must be at "
                                  "least 0, but is ")
             << int64_t(limit);
    auto view = function->getAttrOfType<StringAttr>(viewAttr);
    if (!llvm::hasSingleElement(function.getBody()) ||
        (view && view != "local"))
      return function.emitOpError("plan_residuals_c1: has layouts or several "
                                  "blocks; plan the program of one rank, "
                                  "behind cp-partition");
    return success();
  }

  /// A remark for each layer with what is made again, and one for the step.
  static void explain(func::FuncOp function, const ResidualCut &cut,
                      const Ops &again, int64_t before, int64_t now) {
    struct Layer {
      int64_t keptBytes = 0, cost = 0, againCost = 0;
      llvm::MapVector<StringRef, int> ops;
    };
    llvm::MapVector<StringRef, Layer> layers;
    Layer all;
    for (Operation &op : function.getBody().front()) {
      if (!cut.forward().contains(&op))
        continue;
      Layer &layer = layers[cut.layerOf(&op)];
      layer.cost += costOf(&op);
      for (Value result : op.getResults())
        if (!again.contains(&op) && !isView(&op) && isKept(result, cut, again))
          layer.keptBytes += bytesOf(result);
      if (!again.contains(&op) || costOf(&op) == 0)
        continue;
      layer.againCost += costOf(&op);
      ++layer.ops[op.getName().getStringRef()];
    }
    for (auto &[name, layer] : layers) {
      all.keptBytes += layer.keptBytes;
      all.cost += layer.cost;
      all.againCost += layer.againCost;
      if (layer.againCost)
        remark::passed(function.getLoc(), remarkOf(function, "layer"))
            << remark::metric("layer", name)
            << remark::metric("kept_bytes", layer.keptBytes)
            << remark::metric("recomputed", textOf(layer.ops))
            << remark::metric("of_forward", partOf(layer));
    }
    remark::passed(function.getLoc(), remarkOf(function, "step"))
        << remark::metric("kept_bytes", all.keptBytes)
        << remark::metric("live_bytes", now)
        << remark::metric("live_bytes_without", before)
        << remark::metric("of_forward", partOf(all));
  }

  static remark::RemarkOpts remarkOf(func::FuncOp function, StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("residual")
        .function(function.getName());
  }

  /// "cp.conv1d (3), cp.ssd".
  static std::string textOf(const llvm::MapVector<StringRef, int> &ops) {
    std::string text;
    for (auto [name, count] : ops)
      text += (text.empty() ? "" : ", ") + name.str() +
              (count > 1 ? " (" + std::to_string(count) + ")" : "");
    return text;
  }

  /// Whether what is not the forward pass reads it as it was.
  static bool isKept(Value value, const ResidualCut &cut, const Ops &again) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return again.contains(user) || !cut.forward().contains(user);
    });
  }

  /// How much of the forward pass is made again, in percent.
  template <typename Layer> static std::string partOf(const Layer &layer) {
    return std::to_string(layer.cost ? 100 * layer.againCost / layer.cost : 0) +
           " %";
  }
};

} // namespace
} // namespace cp
