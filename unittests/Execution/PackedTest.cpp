//===- PackedTest.cpp - Documents behind each other over ranks ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution, a scan, a rotation and an attention on rows that hold several
// documents, wherever ranks' borders are: against one rank, and with NaN in one
// document, of which no bit of another one may change.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Model/Random.h"
#include "cp/Trace/TraceTokens.h"

#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int64_t numTokens = 32;

const char *const packedText = R"(
!x = tensor<2x32x32xf64>
!heads = tensor<2x32x8x4xf64>
!b = tensor<2x32x2x3xf64>
!k = tensor<2x32x2x4xf64>
!state = tensor<2x8x4x3xf64>
!places = tensor<2x32xi64>
!lse = tensor<2x8x32xf64>
func.func @main(%x: !x {cp.name = "x", cp.sequence = 1 : i64},
    %places: !places {cp.name = "places", cp.sequence = 1 : i64},
    %w: tensor<32x4xf64> {cp.name = "w"},
    %before: tensor<2x3x32xf64> {cp.name = "before"},
    %dt: tensor<2x32x8xf64> {cp.name = "dt", cp.sequence = 1 : i64},
    %a: tensor<8xf64> {cp.name = "A_log"},
    %b: !b {cp.name = "B", cp.sequence = 1 : i64},
    %c: !b {cp.name = "C", cp.sequence = 1 : i64},
    %initial: !state {cp.name = "initial"},
    %k: !k {cp.name = "k", cp.sequence = 1 : i64},
    %v: !k {cp.name = "v", cp.sequence = 1 : i64})
    -> (!x, !heads, !state, !heads, !lse) {
  %conv = cp.conv1d %x weight(%w) initial(%before) places(%places)
      : (!x, tensor<32x4xf64>, tensor<2x3x32xf64>, !places) -> !x
  %split = tensor.expand_shape %conv [[0], [1], [2, 3]]
      output_shape [2, 32, 8, 4] : !x into !heads
  %y, %state = cp.ssd %split dt(%dt) A_log(%a) B(%b) C(%c) initial(%initial)
      places(%places) {chunk_size = 4}
      : (!heads, tensor<2x32x8xf64>, tensor<8xf64>, !b, !b, !state, !places)
      -> (!heads, !state)
  %q = cp.rotary %y positions(%places) : (!heads, !places) -> !heads
  %o, %lse = cp.attention %q, %k, %v places(%places)
      : (!heads, !k, !k, !places) -> (!heads, !lse)
  return %conv, %y, %state, %o, %lse : !x, !heads, !state, !heads, !lse
})";

/// Documents of 5, 11, 1 and 15 tokens; and one that has begun three tokens
/// earlier, one of 12, and 7 rows without a token.
int64_t placeOf(int64_t b, int64_t t) {
  if (b == 0)
    return t < 5 ? t : t < 16 ? t - 5 : t < 17 ? 0 : t - 17;
  return t < 13 ? t + 3 : t < 25 ? t - 13 : -1;
}

/// The document that is made NaN: tokens 5 to 15 of the first row.
bool isSpoiled(int64_t b, int64_t t) { return b == 0 && t >= 5 && t < 16; }
/// So is what stands before the first row, which begins with a document.
bool isBeforeFirstRow(const TensorSpec &spec, int64_t element) {
  bool isBefore = spec.name == "before" || spec.name == "initial";
  return isBefore && element < *tensorBytes(spec.shape, DType::I8) / 2;
}

/// Half of the heads keep most of their state from token to token.
std::vector<HostTensor> drawAll(const Program &program, bool spoils) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : program.arguments()) {
    if (spec.dtype == DType::I64) {
      tensors.push_back(HostTensor::zeros(DType::I64, spec.shape));
      for (int64_t i = 0; i < 2 * numTokens; ++i) {
        int64_t place = placeOf(i / numTokens, i % numTokens);
        std::memcpy(&tensors.back().bytes[size_t(i) * sizeof place], &place,
                    sizeof place);
      }
      continue;
    }
    std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 2 * uniform01(fnv1a64(spec.name), i) - 1;
    for (size_t h = 0; h < 4 && spec.name == "A_log"; ++h)
      values[h] = std::log(0.01);
    bool isPerToken = spec.shape.size() > 2 && spec.shape[1] == numTokens;
    int64_t perToken = int64_t(values.size()) / (2 * numTokens);
    for (int64_t i = 0; i < int64_t(values.size()) && spoils; ++i)
      if (isBeforeFirstRow(spec, i) ||
          (isPerToken &&
           isSpoiled(i / perToken / numTokens, i / perToken % numTokens)))
        values[size_t(i)] = std::numeric_limits<double>::quiet_NaN();
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

struct Way {
  CutStrategy mixer;
  AttentionForm attention;
  Order order;
};

Sharding over(int64_t ranks, const Way &way, ScanAlgorithm scan) {
  Sharding sharding;
  sharding.mesh = Mesh{{{"cp", ranks}}};
  sharding.sequence.front().order = way.order;
  sharding.mixer = way.mixer;
  sharding.attention = way.attention;
  sharding.scan = scan;
  return sharding;
}

const Way ways[] = {
    {CutStrategy::Sequence, AttentionForm::Ring, Order::Contiguous},
    {CutStrategy::Sequence, AttentionForm::Ring, Order::Zigzag},
    {CutStrategy::Sequence, AttentionForm::Gather, Order::Zigzag},
    {CutStrategy::Sequence, AttentionForm::Ulysses, Order::Contiguous},
    {CutStrategy::Sequence, AttentionForm::Ring, Order::Striped},
    {CutStrategy::Hidden, AttentionForm::Ulysses, Order::Contiguous},
    {CutStrategy::Hidden, AttentionForm::Gather, Order::Zigzag},
};

const ScanAlgorithm scans[] = {
    ScanAlgorithm::Chain, ScanAlgorithm::Gather, ScanAlgorithm::Doubling,
    ScanAlgorithm::Pipelined, ScanAlgorithm::Transposed};

class PackedTest : public testing::Test {
protected:
  PackedTest() : module(parse(packedText)) {}

  /// Calls `fn` for every way to cut it, over 1, 2, 4 and 8 ranks.
  template <typename Fn> void forEach(Fn fn) {
    for (int64_t ranks : {1, 2, 4, 8})
      for (const Way &way : ways)
        for (ScanAlgorithm scan : scans) {
          // Heads are not scanned over ranks.
          if (way.mixer == CutStrategy::Hidden && scan != ScanAlgorithm::Chain)
            continue;
          SCOPED_TRACE(testing::Message()
                       << ranks << " ranks, " << stringifyEnum(way.mixer).str()
                       << ", " << stringifyEnum(way.attention).str() << ", "
                       << orderName(way.order) << ", "
                       << stringifyEnum(scan).str());
          CompileOptions options;
          options.sharding = over(ranks, way, scan);
          fn(options);
          if (HasFailure())
            return;
        }
  }

  OwningOpRef<ModuleOp> module;
};

TEST_F(PackedTest, EveryWayIsThatOfOneRank) {
  ASSERT_TRUE(module);
  std::unique_ptr<Program> whole = compile(*module, TestSharding());
  ASSERT_TRUE(whole);
  std::vector<HostTensor> inputs = drawAll(*whole, /*spoils=*/false);
  RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
  forEach([&](const CompileOptions &options) {
    std::unique_ptr<Program> cut = compileWith(*module, options);
    ASSERT_TRUE(cut);
    for (cprt_kernel_set kernels :
         {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
      RunResult result = runOrFail(*cut, inputs, kernels);
      ASSERT_EQ(result.outputs.size(), 5u);
      for (size_t i = 0; i < 5; ++i)
        EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2, 1e-12)
            << "result " << i;
    }
  });
}

/// The row of an element, in [b, l, ...] or, of lse, [b, h, l].
bool isOfSpoiled(const HostTensor &tensor, size_t element) {
  auto at = int64_t(element);
  bool isLse = tensor.shape.size() == 3 && tensor.shape[1] == 8;
  if (isLse)
    return isSpoiled(at / (8 * numTokens), at % numTokens);
  int64_t perToken = tensor.numElements() / (2 * numTokens);
  return isSpoiled(at / perToken / numTokens, at / perToken % numTokens);
}

/// The final states are those of the last documents, so none of them changes.
TEST_F(PackedTest, ANaNStaysInItsDocument) {
  ASSERT_TRUE(module);
  forEach([&](const CompileOptions &options) {
    std::unique_ptr<Program> program = compileWith(*module, options);
    ASSERT_TRUE(program);
    RunResult clean = runOrFail(*program, drawAll(*program, false),
                                CPRT_KERNELS_FAST),
              bad = runOrFail(*program, drawAll(*program, true),
                              CPRT_KERNELS_FAST);
    for (size_t i = 0; i < 5; ++i) {
      std::vector<double> kept = clean.outputs[i].asDoubles(),
                          got = bad.outputs[i].asDoubles();
      for (size_t at = 0; at < got.size(); ++at)
        if (i == 2 || !isOfSpoiled(bad.outputs[i], at))
          ASSERT_EQ(got[at], kept[at]) << "result " << i << " at " << at;
        else
          ASSERT_TRUE(std::isnan(got[at])) << "result " << i << " at " << at;
    }
  });
}

/// Places are followed too, and are those of the rows that they go with.
TEST_F(PackedTest, TracesFindNothing) {
  ASSERT_TRUE(module);
  forEach([&](const CompileOptions &options) {
    llvm::Expected<TokenTrace> trace = traceTokens(*module, options);
    if (!trace)
      FAIL() << llvm::toString(trace.takeError());
    for (const TokenFinding &finding : trace->findings)
      ADD_FAILURE() << finding.where << ": " << finding.what;
    // The final state is a sum of two states, which no trace follows.
    for (const auto &[op, count] : trace->untraced)
      EXPECT_TRUE(op == "linalg.broadcast" || op == "linalg.map") << op;
  });
}

/// Rows that count otherwise are refused by every rank, before ranks meet.
TEST_F(PackedTest, PlacesMustCount) {
  ASSERT_TRUE(module);
  for (const Way &way : ways) {
    CompileOptions options;
    options.sharding = over(4, way, ScanAlgorithm::Chain);
    std::unique_ptr<Program> program = compileWith(*module, options);
    ASSERT_TRUE(program);
    std::vector<HostTensor> inputs = drawAll(*program, false);
    int64_t wrong = 9;
    std::memcpy(&inputs[1].bytes[6 * sizeof wrong], &wrong, sizeof wrong);
    llvm::Expected<RunResult> result = program->run(pointersTo(inputs), {});
    ASSERT_FALSE(result);
    std::string text = llvm::toString(result.takeError());
    EXPECT_NE(text.find("is 9 behind"), std::string::npos) << text;
  }
}

} // namespace
