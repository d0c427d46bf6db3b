//===- LoweredStepsTest.cpp - Collectives are the steps they came from ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Layout/Support.h"

#include "cp/IR/CPDialect.h"
#include "cp/Layout/Plan.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace cp;

namespace {

MLIRContext &context() {
  static MLIRContext &result = []() -> MLIRContext & {
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *made = new MLIRContext(registry);
    // Attributes are made before a parser would load it.
    made->loadDialect<CPDialect>();
    return *made;
  }();
  return result;
}

RankedTensorType localType(const Layout &layout,
                           const std::vector<int64_t> &shape) {
  return RankedTensorType::get(localShape(layout, shape),
                               Float32Type::get(&context()));
}

/// One reshard of a tensor of f32, lowered.
OwningOpRef<ModuleOp> lowered(const Layout &from, const Layout &to,
                              const std::vector<int64_t> &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  RankedTensorType before = localType(from, shape),
                   after = localType(to, shape);
  os << "#from = " << LayoutAttr::get(&context(), from)
     << "\n#to = " << LayoutAttr::get(&context(), to)
     << "\nfunc.func @main(%x: " << before << ") -> " << after
     << " attributes {cp.view = \"local\"} {\n  %0 = cp.reshard %x from #from "
     << "to #to : " << before << " to " << after << "\n  return %0 : " << after
     << "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context());
  PassManager manager(&context());
  manager.addNestedPass<func::FuncOp>(createLowerReshards());
  if (!module || failed(manager.run(*module)))
    return {};
  return module;
}

/// A share as local ops can say it.
Share withoutIdleUnits(Share share) {
  if (auto *parts = std::get_if<Parts>(&share))
    for (Cut &cut : parts->cuts)
      cut = placesOnly(cut);
  return share;
}

/// To a local op parts of unlike sizes are parts of one.
Share withoutSizes(Share share) {
  if (auto *parts = std::get_if<Parts>(&share))
    if (isBySizes(parts->cuts))
      parts->cuts = inContiguousOrder(parts->cuts);
  return withoutIdleUnits(std::move(share));
}

void expectSameSteps(const Layout &from, const Layout &to,
                     const std::vector<int64_t> &shape) {
  std::optional<std::vector<PlannedStep>> steps = plan(from, to, shape);
  if (!steps)
    return;
  OwningOpRef<ModuleOp> module = lowered(from, to, shape);
  ASSERT_TRUE(module);
  SmallVector<CollectiveOpInterface> ops;
  module->walk([&](CollectiveOpInterface op) { ops.push_back(op); });
  ASSERT_EQ(ops.size(), steps->size());
  const Layout *before = &from;
  for (auto [op, step] : llvm::zip_equal(ops, *steps)) {
    SmallVector<TensorStep> said = op.getSteps();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].step.axes, step.axes);
    EXPECT_TRUE(said[0].step.from == withoutSizes(step.from));
    EXPECT_TRUE(said[0].step.to == withoutSizes(step.to));
    // What a position sends is what each rank at it does.
    SmallVector<int64_t> bytes = op.getBytesSent();
    for (int64_t rank = 0; rank < from.mesh.numRanks(); ++rank)
      EXPECT_EQ(bytes[from.mesh.positionInGroup(rank, step.axes)],
                4 * elementsSent(step, *before, shape, rank));
    before = &step.after;
  }
}

/// Every pair of layouts on two axes, but orders per document, of which a
/// tensor alone says nothing; what an op says is made from its attributes
/// alone.
TEST(LoweredSteps, AreThoseOfThePlan) {
  std::vector<Layout> layouts = test::allLayouts(test::makeMesh({2, 3}), 2);
  llvm::erase_if(layouts,
                 [](const Layout &layout) { return isPerDocument(layout); });
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      expectSameSteps(from, to, {24, 48});
}

/// In front of an op rooms are made, and behind it they are closed up: it sends
/// whole rooms, as the plan has them.
TEST(LoweredSteps, OfSizesSendRooms) {
  Mesh mesh = test::makeMesh({3});
  std::vector<Layout> layouts = {{mesh, {{}, {}}, {0}}};
  for (const Cut &cut :
       {Cut{0}, Cut{0, Order::Zigzag}, test::bySizes(0, {5, 0, 7}),
        test::bySizes(0, {0, 0, 12}), remainderFirst(0, 3, 12)})
    for (size_t dim : {0, 1}) {
      Layout layout{mesh, {{}, {}}, {}};
      layout.dims[dim] = {cut};
      layouts.push_back(layout);
    }
  layouts.push_back({mesh, {{}, {}}, {}});
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      expectSameSteps(from, to, {12, 12});
}

} // namespace
