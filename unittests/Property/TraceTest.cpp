//===- TraceTest.cpp - Traces of right and of broken programs -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A drawn program whose numbers are right traces clean; one that is broken in a
// single op does not.
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"
#include "cp/IR/CPDialect.h"
#include "cp/Trace/TraceTokens.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <iostream>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr uint64_t cases = 60;

std::string textOf(const TokenTrace &trace) {
  std::string text;
  for (const TokenFinding &finding : trace.findings)
    text += finding.where + ": rank " + std::to_string(finding.rank) + ": " +
            finding.what + "\n";
  for (const auto &[name, count] : trace.untraced)
    text += "not traced: " + name + "\n";
  return text;
}

struct Case {
  RandomSharding sharding;
  RandomModel model;
  std::string line;
};

Case drawCase(uint64_t seed) {
  Dice dice(seed);
  Case drawn;
  drawn.sharding = drawSharding(dice);
  drawn.model = drawModel(dice, drawn.sharding);
  drawn.line = "seed " + std::to_string(seed) + ": " +
               describe(drawn.sharding, drawn.model);
  return drawn;
}

TEST(TracePropertyTest, EveryShardingTracesClean) {
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    Case drawn = drawCase(seed);
    SCOPED_TRACE(drawn.line);
    OwningOpRef<ModuleOp> module = parse(drawn.model.text);
    ASSERT_TRUE(module);
    CompileOptions options;
    options.sharding = drawn.sharding.value;
    llvm::Expected<TokenTrace> trace = traceTokens(*module, options);
    ASSERT_TRUE(static_cast<bool>(trace)) << llvm::toString(trace.takeError());
    EXPECT_TRUE(trace->findings.empty() && trace->untraced.empty() &&
                trace->complete)
        << textOf(*trace) << drawn.model.text;
    EXPECT_GT(trace->traced, 5);
  }
}

/// The program of one rank.
OwningOpRef<ModuleOp> sharded(const Case &drawn) {
  OwningOpRef<ModuleOp> module = parse(drawn.model.text);
  PassManager manager(module->getContext());
  buildShardPipeline(manager, drawn.sharding.value);
  return succeeded(manager.run(*module)) ? std::move(module) : nullptr;
}

bool isEven(Value value, int64_t dim, int64_t parts) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim) % parts == 0;
}

Value zerosLike(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return arith::ConstantOp::create(
      builder, value.getLoc(),
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 0.0)));
}

/// Makes a contiguous cut zigzag and the other way round; not a striped one.
bool tellAnotherOrder(Cut &cut) {
  if (cut.order == Order::Striped)
    return false;
  cut.order = cut.order == Order::Zigzag ? Order::Contiguous : Order::Zigzag;
  return true;
}

/// The same for the one cut of an op that cuts a dimension of each of `wholes`;
/// of several, the last becomes the first.
template <typename OpTy>
std::string toldAnotherOrder(OpTy op, ValueRange wholes) {
  std::vector<Cut> cuts = op.toCuts();
  std::string name = op->getName().stripDialect().str();
  if (cuts.size() > 1) {
    std::reverse(cuts.begin(), cuts.end());
    op.setCutsAttr(cutsAttr(op.getMesh(), cuts));
    return name + " told its axes in another order";
  }
  bool areEven = llvm::all_of(wholes, [&](Value whole) {
    return isEven(whole, op.getDim(), 2 * op.getGroupSize());
  });
  if (!areEven || !tellAnotherOrder(cuts[0]))
    return "";
  op.setCutsAttr(cutsAttr(op.getMesh(), cuts));
  return name + " told another order";
}

/// Breaks an op; gives what was done, or "" when there is nothing to break.
std::string broken(Operation *op) {
  OpBuilder builder(op);
  int64_t group = cast<GroupOpInterface>(op).getGroupSize();
  if (group < 2 || op->use_empty())
    return "";
  if (auto reorder = dyn_cast<ReorderOp>(op)) {
    reorder.getResult().replaceAllUsesWith(reorder.getSource());
    return "reorder dropped";
  }
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    reduce.getResult(0).replaceAllUsesWith(reduce.getSources()[0]);
    return "sum dropped";
  }
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return toldAnotherOrder(scatter, scatter.getSources());
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    // Keys and their values may come in any order where all are seen.
    bool mayBeAny = llvm::any_of(op->getUsers(), [](Operation *user) {
      auto rows = dyn_cast<AttentionRowsOp>(user);
      return rows && !rows.getCausal();
    });
    return gather.getSources().size() > 1 && mayBeAny
               ? ""
               : toldAnotherOrder(gather, gather.getResults());
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return toldAnotherOrder(slice, slice.getSource());
  if (auto scan = dyn_cast<ScanStateOp>(op)) {
    bool hasOnePart = partsPerRank(scan.toCuts()) == 1;
    if (!scan.getTotal().empty() && hasOnePart) {
      scan.getTotal()[1].replaceAllUsesWith(scan.getPrefix()[1]);
      return "prefix for a total";
    }
    if (group < 3 || !hasOnePart) {
      scan.getPrefix()[1].replaceAllUsesWith(
          zerosLike(builder, scan.getSummary()[1]));
      return "state dropped";
    }
    for (unsigned i = 0; i < 2; ++i)
      scan->getResult(i).replaceAllUsesWith(
          ShiftOp::create(builder, op->getLoc(), scan->getOperand(i).getType(),
                          scan->getOperand(i), scan.getMesh(), scan.getAxes(),
                          /*offset=*/1));
    return "state of one hop";
  }
  if (auto halo = dyn_cast<HaloOp>(op)) {
    halo->getResult(0).replaceAllUsesWith(
        zerosLike(builder, halo->getResult(0)));
    return "halo dropped";
  }
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    if (exchange.getAxes().size() > 1) {
      SmallVector<Attribute> axes(llvm::reverse(exchange.getAxes()));
      exchange.setAxesAttr(builder.getArrayAttr(axes));
      return "exchange told its axes in another order";
    }
    if (!isEven(exchange.getResults()[0], exchange.getConcatDims()[0],
                2 * group))
      return "";
    Mesh mesh = exchange.getMesh().toMesh();
    auto axis = cast<StringAttr>(exchange.getAxes()[0]);
    std::vector<Cut> cuts(exchange.getSources().size(),
                          Cut{mesh.findAxis(axis.getValue())});
    if (std::optional<ArrayAttr> told = exchange.getConcatCuts())
      cuts = cutsOf(exchange.getMesh(), *told);
    if (!tellAnotherOrder(cuts[0]))
      return "";
    exchange.setConcatCutsAttr(cutsAttr(exchange.getMesh(), cuts));
    return "exchange told another order";
  }
  if (auto ring = dyn_cast<RingAttentionOp>(op)) {
    // Keys may come in any order where all are seen.
    std::vector<Cut> cuts = ring.toCuts();
    if (!ring.getCausal() || cuts.size() > 1 || !isEven(ring.getQ(), 1, 2) ||
        !tellAnotherOrder(cuts[0]))
      return "";
    ring.setCutsAttr(cutsAttr(ring.getMesh(), cuts));
    return "attention told another order";
  }
  return "";
}

/// What the trace lets pass must not change results, but for roundings: keys of
/// an attention that is not causal may come in any order.
void expectSameNumbers(ModuleOp good, ModuleOp bad, const Case &drawn,
                       uint64_t seed) {
  std::unique_ptr<Program> first = compileQuickly(good);
  std::unique_ptr<Program> second = compileQuickly(bad);
  ASSERT_TRUE(first && second);
  std::vector<HostTensor> inputs =
      drawInputs(first->arguments(), drawn.model.decay, seed);
  RunResult expected = runOrFail(*first, inputs, CPRT_KERNELS_REFERENCE);
  RunResult result = runOrFail(*second, inputs, CPRT_KERNELS_REFERENCE);
  double tolerance = drawn.model.dtype == "f64"   ? 1e-12
                     : drawn.model.dtype == "f32" ? 1e-5
                                                  : 2e-2;
  for (auto [got, wanted] : llvm::zip_equal(result.outputs, expected.outputs))
    EXPECT_LE(compare(got, wanted).relL2, tolerance);
}

TEST(TracePropertyTest, OneBrokenOpIsSeen) {
  std::map<std::string, int64_t> seen;
  int64_t harmless = 0;
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    Case drawn = drawCase(seed);
    OwningOpRef<ModuleOp> good = sharded(drawn);
    ASSERT_TRUE(good);
    int64_t count = 0;
    good->walk([&](Operation *op) { count += isa<GroupOpInterface>(op); });
    for (int64_t which = 0; which < count; ++which) {
      OwningOpRef<ModuleOp> bad = good->clone();
      int64_t number = 0;
      Operation *chosen = nullptr;
      bad->walk([&](Operation *op) {
        if (isa<GroupOpInterface>(op) && number++ == which)
          chosen = op;
      });
      std::string text;
      llvm::raw_string_ostream(text) << *chosen;
      std::string way = broken(chosen);
      if (way.empty())
        continue;
      SCOPED_TRACE(drawn.line + ", " + way + ": " + text);
      llvm::Expected<TokenTrace> trace = traceTokens(*bad, CompileOptions());
      ASSERT_TRUE(static_cast<bool>(trace))
          << llvm::toString(trace.takeError());
      // Of what is repeated, ranks may get the same whatever the order.
      if (trace->findings.empty())
        expectSameNumbers(*good, *bad, drawn, seed);
      harmless += trace->findings.empty();
      ++seen[way];
    }
  }
  for (auto &[way, times] : seen)
    std::cout << way << ": " << times << " times\n";
  std::cout << "without consequence: " << harmless << "\n";
  EXPECT_GE(seen.size(), 8u);
}

} // namespace
