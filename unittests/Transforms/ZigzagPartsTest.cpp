//===- ZigzagPartsTest.cpp - Ops of any rule on two parts -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise ops of rank 3 play sequence ops that cp does not have.
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace cp;

namespace {

/// An op that depends along dimension `sequence`.
template <typename OpTy, int64_t sequence>
struct Along : SequenceOpInterface::ExternalModel<Along<OpTy, sequence>, OpTy> {
  int64_t getSequenceFactor(Operation *) const { return sequence; }
};

/// A window of one row, before or behind.
template <typename OpTy, bool reverse = false>
struct Window : WindowOpInterface::ExternalModel<Window<OpTy, reverse>, OpTy> {
  int64_t getWindowRows(Operation *) const { return 1; }
  bool isReverse(Operation *) const { return reverse; }
  void setInitialRows(Operation *op, Value rows) const {
    op->setAttr("rows", TypeAttr::get(rows.getType()));
  }
};

/// A scan whose summary has no batch in front.
struct Scan : ScanOpInterface::ExternalModel<Scan, math::SinOp> {
  ScanSummary summarize(Operation *op, OpBuilder &builder) const {
    auto type = RankedTensorType::get({8, 6}, builder.getF32Type());
    Value summary = arith::ConstantOp::create(builder, op->getLoc(),
                                              builder.getZeroAttr(type));
    return {{summary, summary}, {}};
  }
  SmallVector<Value> apply(Operation *, OpBuilder &, const ScanSummary &,
                           const ScanSummary &) const {
    return {Value()};
  }
};

/// One whose summary, of all its batch, combines as one unit.
struct ScanOfOneUnit
    : ScanOpInterface::ExternalModel<ScanOfOneUnit, math::SqrtOp> {
  ScanSummary summarize(Operation *op, OpBuilder &builder) const {
    auto type = RankedTensorType::get({6, 8}, builder.getF32Type());
    Value summary = arith::ConstantOp::create(builder, op->getLoc(),
                                              builder.getZeroAttr(type));
    return {{summary}, {}};
  }
  SmallVector<Value> apply(Operation *, OpBuilder &, const ScanSummary &,
                           const ScanSummary &) const {
    return {Value()};
  }
  CombineAttr getCombine(Operation *op) const {
    return CombineAttr::get(op->getContext(), "f", /*batchDims=*/0);
  }
  /// It ends with its only result.
  Value getFinalState(Operation *op) const { return op->getResult(0); }
};

struct ScanOfNothing
    : ScanOpInterface::ExternalModel<ScanOfNothing, math::LogOp> {
  ScanSummary summarize(Operation *, OpBuilder &) const { return {}; }
  SmallVector<Value> apply(Operation *, OpBuilder &, const ScanSummary &,
                           const ScanSummary &) const {
    return {Value()};
  }
};

MLIRContext &context() {
  static MLIRContext &result = []() -> MLIRContext & {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
      math::AbsFOp::attachInterface<Along<math::AbsFOp, 0>,
                                    Window<math::AbsFOp>>(*context);
      math::ExpOp::attachInterface<Along<math::ExpOp, 2>, Window<math::ExpOp>>(
          *context);
      math::CosOp::attachInterface<Along<math::CosOp, 1>,
                                   Window<math::CosOp, true>>(*context);
      math::TanOp::attachInterface<Along<math::TanOp, 1>>(*context);
      math::SinOp::attachInterface<Along<math::SinOp, 1>, Scan>(*context);
      math::LogOp::attachInterface<Along<math::LogOp, 1>, ScanOfNothing>(
          *context);
      math::SqrtOp::attachInterface<Along<math::SqrtOp, 1>, ScanOfOneUnit>(
          *context);
    });
    return *new MLIRContext(registry);
  }();
  return result;
}

/// `op` of f32 tensors of that shape, whose dimension `sequence` is cut over
/// two ranks.
std::string programOf(const std::string &op, const std::string &shape,
                      int64_t sequence, const std::string &order = " zigzag") {
  std::string cuts;
  for (int64_t dim = 0; dim < 3; ++dim)
    cuts += std::string(dim ? ", " : "") +
            (dim == sequence ? "{\"cp\"" + order + "}" : "{}");
  return "!type = tensor<" + shape +
         "xf32, #cp.layout<#cp.mesh<\"cp\" = 2>, [" + cuts + R"(]>>
      func.func @main(%x: !type) -> !type attributes {cp.view = "global"} {
        %y = )" +
         op + R"( %x : !type
        return %y : !type
      })";
}

/// The partitioned module, or the first error.
struct Partitioned {
  OwningOpRef<ModuleOp> module;
  std::string error;

  explicit Partitioned(const std::string &text) {
    ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = diagnostic.str();
      return success();
    });
    module = parseSourceString<ModuleOp>(text, &context());
    PassManager manager(&context());
    manager.addNestedPass<func::FuncOp>(createPartition());
    bool good = module && succeeded(manager.run(*module));
    EXPECT_EQ(good, error.empty());
  }
};

TEST(ZigzagPartsTest, TheBatchIsWhateverStandsBeforeTheSequence) {
  Partitioned result(programOf("math.exp", "3x5x16", 2));
  ASSERT_EQ(result.error, "");
  auto type = [](llvm::ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context()));
  };
  int64_t seen = 0;
  result.module->walk([&](HaloOp halo) {
    ++seen;
    EXPECT_EQ(halo.getDim(), 2u);
    EXPECT_EQ(partsPerRank(halo.toCuts()), 2);
    EXPECT_EQ(halo.getResultTypes()[0], type({3, 5, 2}));
  });
  result.module->walk([&](math::ExpOp op) {
    ++seen;
    EXPECT_EQ(op.getType(), type({3, 10, 4}));
    EXPECT_EQ(op->getAttrOfType<TypeAttr>("rows").getValue(), type({3, 10, 1}));
  });
  EXPECT_EQ(seen, 2);
}

TEST(ZigzagPartsTest, AWindowInReverseReadsRowsBehind) {
  Partitioned result(programOf("math.cos", "3x16x5", 1));
  ASSERT_EQ(result.error, "");
  int64_t seen = 0;
  result.module->walk([&](HaloOp halo) {
    ++seen;
    EXPECT_TRUE(halo.getRows().isReverse);
    EXPECT_EQ(halo.getAfter(), 1u);
    EXPECT_EQ(halo.getBefore(), std::nullopt);
  });
  EXPECT_EQ(seen, 1);
}

TEST(ZigzagPartsTest, ABatchOfNothingHasNoParts) {
  EXPECT_EQ(Partitioned(programOf("math.exp", "3x0x16", 2)).error, "");
}

TEST(ZigzagPartsTest, ASequenceWithoutABatchIsRefused) {
  EXPECT_EQ(
      Partitioned(programOf("math.absf", "16x5x6", 0)).error,
      "'math.absf' op partition_c1: the sequence is cut in zigzag order, for "
      "which each tensor with it must have one and the same batch dimension in "
      "front of it, but operand 0 has not; reshard the sequence to contiguous "
      "order");
}

TEST(ZigzagPartsTest, ASummaryWithoutItsBatchInFrontIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.sin", "3x16x8", 1)).error,
            "'math.sin' op partition_c4: in zigzag order the first dimension "
            "of a scan's summary must be the batch, of 6 parts here, but its "
            "decay is 'tensor<8x6xf32>'; put the batch first, or reshard the "
            "sequence to contiguous order");
}

TEST(ZigzagPartsTest, ACombineThatCountsNoBatchIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.sqrt", "3x16x8", 1)).error,
            "'math.sqrt' op partition_c4: in zigzag order the first dimension "
            "of a scan's summary must be the batch, of 6 parts here, but its "
            "first tensor is 'tensor<6x8xf32>' and its combine counts no "
            "batch; put the batch first, or reshard the sequence to contiguous "
            "order");
}

TEST(ZigzagPartsTest, AFinalStateThatNobodyKnowsHowToMakeIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.sqrt", "3x16x8", 1, "")).error,
            "'math.sqrt' op partition_c6: its summaries combine in a way of "
            "their own, so it must say by advance what they do to a state, as "
            "its final state is used");
}

TEST(ZigzagPartsTest, ASummaryOfNothingIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.log", "3x16x8", 1, "")).error,
            "'math.log' op partition_c6: the summary of a scan must be one "
            "tensor or more, but summarize gives none");
}

TEST(ZigzagPartsTest, AnOpOfNoKindIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.tan", "3x16x8", 1)).error,
            "'math.tan' op partition_c5: needs its sequence whole, as it has "
            "none of WindowOpInterface, ScanOpInterface and PlacedOpInterface, "
            "but the sequence is cut; cut its heads or channels instead, or "
            "none");
}

TEST(ZigzagPartsTest, AResultThatOnlyTheWholeSequenceHasIsRefused) {
  EXPECT_EQ(Partitioned(programOf("math.sin", "3x16x8", 1, "")).error,
            "'math.sin' op partition_c3: result 0 is used, but is not known on "
            "every rank when the sequence is cut; cut heads instead (strategy "
            "= \"hidden\")");
}

} // namespace
