//===- GradientCases.cpp - Programs to differentiate ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

#include "TestModel.h"
#include "cp/Model/Random.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace cp::test {

std::vector<Sharding> gradientShardings() {
  std::vector<Sharding> all;
  Sharding sharding;
  sharding.replicateUnused = true;
  auto add = [&](CutStrategy mixer, AttentionForm attention, Order order) {
    sharding.mixer = mixer;
    sharding.attention = attention;
    sharding.sequence.front().order = order;
    all.push_back(sharding);
  };
  for (int64_t ranks : {2, 4}) {
    sharding.mesh = Mesh{{{"cp", ranks}}};
    for (Order order : {Order::Contiguous, Order::Zigzag, Order::Striped}) {
      add(CutStrategy::Hidden, AttentionForm::Ulysses, order);
      add(CutStrategy::Sequence, AttentionForm::Ring, order);
      add(CutStrategy::Sequence, AttentionForm::Gather, order);
    }
  }
  sharding.mesh = Mesh{{{"ring", 2}, {"u", 2}}};
  sharding.sequence = {Cut{0}, Cut{1}};
  for (Order order : {Order::Contiguous, Order::Zigzag}) {
    add(CutStrategy::TwoD, AttentionForm::TwoD, order);
    add(CutStrategy::Sequence, AttentionForm::Ring, order);
  }
  // Sequences shared between two ranks, each cut between two.
  sharding.mesh = Mesh{{{"dp", 2}, {"cp", 2}}};
  sharding.sequence = {Cut{1}};
  sharding.batch = {Cut{0}};
  for (Order order : {Order::Contiguous, Order::Zigzag}) {
    add(CutStrategy::Hidden, AttentionForm::Ulysses, order);
    add(CutStrategy::Sequence, AttentionForm::Ring, order);
  }
  return all;
}

std::unique_ptr<Program> cutAndDifferentiated(llvm::StringRef text,
                                              AddPasses cut,
                                              const DifferentiateOptions &how) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  if (!module)
    return nullptr;
  mlir::PassManager manager(&context());
  cut(manager);
  buildLocalGradientPipeline(manager, how);
  if (failed(manager.run(*module))) {
    ADD_FAILURE() << "not differentiated:\n" << text.str();
    return nullptr;
  }
  return test::compile(*module, {});
}

std::string describe(const Sharding &sharding) {
  ShardingText text = textOf(sharding);
  return text.mesh + (text.batch.empty() ? "" : ", batch " + text.batch) +
         ", " + text.order + ", mixer " + text.mixer + ", attention " +
         text.attention;
}

std::vector<HostTensor> drawForGradients(llvm::ArrayRef<TensorSpec> specs) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : specs) {
    size_t count = *tensorBytes(spec.shape, DType::I8);
    if (spec.dtype == DType::I32) {
      HostTensor ids = HostTensor::zeros(spec.dtype, spec.shape);
      for (size_t i = 0; i < count; ++i) {
        int32_t id = static_cast<int32_t>(splitMix64(7, i) % 5);
        std::memcpy(ids.bytes.data() + i * sizeof(id), &id, sizeof(id));
      }
      tensors.push_back(std::move(ids));
      continue;
    }
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = 2 * uniform01(fnv1a64(spec.name), i) - 1;
    // States that last show a cotangent that is lost on the way.
    if (spec.name == "A_log")
      values[0] = std::log(0.02);
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

void PrintTo(const GradientCase &testCase, std::ostream *os) {
  *os << testCase.name;
}

std::string textOf(const GradientCase &testCase) {
  std::string type = "tensor<", dims, kinds;
  for (size_t i = 0; i < testCase.shape.size(); ++i) {
    std::string comma = i ? ", " : "";
    type += std::to_string(testCase.shape[i]) + "x";
    dims += comma + "d" + std::to_string(i);
    kinds += comma + "\"reduction\"";
  }
  type += "f64>";
  return std::string(testCase.text) +
         ("  %zero = arith.constant dense<0.0> : tensor<f64>\n"
          "  %loss = linalg.generic {indexing_maps = [") +
         "affine_map<(" + dims + ") -> (" + dims + ")>, affine_map<(" + dims +
         ") -> ()>], iterator_types = [" + kinds + "]} ins(%y : " + type +
         ") outs(%zero : tensor<f64>) {" + R"(
  ^bb0(%element: f64, %so_far: f64):
    %square = arith.mulf %element, %element : f64
    %next = arith.addf %square, %so_far : f64
    linalg.yield %next : f64
  } -> tensor<f64>
  return %loss : tensor<f64>
})";
}

const std::vector<GradientCase> &gradientCases() {
  static const std::vector<GradientCase> cases = {
      {"Arithmetic", {8, 3}, R"(
func.func @main(%a: tensor<8x3xf64> {cp.param = "a", cp.sequence = 0 : i64},
                %b: tensor<8x3xf64> {cp.param = "b", cp.sequence = 0 : i64})
    -> tensor<f64> {
  %two = arith.constant dense<2.0> : tensor<8x3xf64>
  %0 = arith.addf %a, %two : tensor<8x3xf64>
  %1 = math.log %0 : tensor<8x3xf64>
  %2 = math.sqrt %0 : tensor<8x3xf64>
  %3 = math.rsqrt %0 : tensor<8x3xf64>
  %4 = math.powf %0, %b : tensor<8x3xf64>
  %5 = arith.divf %1, %4 : tensor<8x3xf64>
  %6 = math.tanh %b : tensor<8x3xf64>
  %7 = math.erf %6 : tensor<8x3xf64>
  %8 = arith.maximumf %7, %5 : tensor<8x3xf64>
  %9 = math.fma %2, %3, %8 : tensor<8x3xf64>
  %10 = math.sin %9 : tensor<8x3xf64>
  %11 = math.cos %b : tensor<8x3xf64>
  %12 = arith.subf %10, %11 : tensor<8x3xf64>
  %13 = math.exp %12 : tensor<8x3xf64>
  %14 = math.expm1 %b : tensor<8x3xf64>
  %15 = math.absf %14 : tensor<8x3xf64>
  %16 = math.log1p %15 : tensor<8x3xf64>
  %17 = arith.minimumf %13, %2 : tensor<8x3xf64>
  %18 = arith.negf %16 : tensor<8x3xf64>
  %less = arith.cmpf olt, %a, %b : tensor<8x3xf64>
  %19 = arith.select %less, %17, %18 : tensor<8x3xi1>, tensor<8x3xf64>
  %20 = math.exp2 %19 : tensor<8x3xf64>
  %y = arith.mulf %20, %5 : tensor<8x3xf64>
)"},
      {"Contractions", {2, 8, 5}, R"(
#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
#row = affine_map<(b, l, n) -> (n)>
#all = affine_map<(b, l, n) -> (b, l, n)>
func.func @main(%x: tensor<2x8x3xf64> {cp.param = "x", cp.sequence = 1 : i64},
                %w: tensor<5x3xf64> {cp.param = "w"},
                %bias: tensor<5xf64> {cp.param = "bias"}) -> tensor<f64> {
  %f = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x8x5xf64>
  %z = linalg.fill ins(%f : f64) outs(%e : tensor<2x8x5xf64>) -> tensor<2x8x5xf64>
  %p = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x8x3xf64>, tensor<5x3xf64>) outs(%z : tensor<2x8x5xf64>) {
  ^bb0(%a: f64, %c: f64, %s: f64):
    %m = arith.mulf %a, %c : f64
    %t = arith.addf %s, %m : f64
    linalg.yield %t : f64
  } -> tensor<2x8x5xf64>
  %y = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<2x8x5xf64>, tensor<5xf64>) outs(%e : tensor<2x8x5xf64>) {
  ^bb0(%a: f64, %c: f64, %o: f64):
    %0 = arith.addf %a, %c : f64
    %one = arith.constant 1.0 : f64
    %n = arith.negf %0 : f64
    %ex = math.exp %n : f64
    %d = arith.addf %ex, %one : f64
    %silu = arith.divf %0, %d : f64
    linalg.yield %silu : f64
  } -> tensor<2x8x5xf64>
)"},
      // Two rows behind a rank's own, and three before, more than it has.
      {"Shift", {2, 8, 3}, R"(
func.func @main(%x: tensor<2x8x3xf64> {cp.param = "x", cp.sequence = 1 : i64},
                %rows: tensor<2x3x3xf64> {cp.param = "rows"}) -> tensor<f64> {
  %zeros = arith.constant dense<0.0> : tensor<2x2x3xf64>
  %0 = math.sin %x : tensor<2x8x3xf64>
  %1 = cp.shift_tokens %0 then %zeros : tensor<2x8x3xf64>, tensor<2x2x3xf64>
  %2 = cp.shift_tokens %x then %rows {delay} : tensor<2x8x3xf64>, tensor<2x3x3xf64>
  %y = arith.mulf %1, %2 : tensor<2x8x3xf64>
)"},
      {"Shapes", {24}, R"(
func.func @main(%x: tensor<4x6xf64> {cp.param = "x"}) -> tensor<f64> {
  %0 = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x6xf64> to tensor<4x2xf64>
  %1 = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] : tensor<4x6xf64> to tensor<4x4xf64>
  %2 = tensor.extract_slice %x[1, 1] [1, 4] [1, 1] : tensor<4x6xf64> to tensor<4xf64>
  %3 = math.exp %1 : tensor<4x4xf64>
  %4 = tensor.expand_shape %2 [[0, 1]] output_shape [1, 4] : tensor<4xf64> into tensor<1x4xf64>
  %5 = tensor.insert_slice %4 into %3[2, 0] [1, 4] [1, 1] : tensor<1x4xf64> into tensor<4x4xf64>
  %6 = tensor.concat dim(1) %5, %0 : (tensor<4x4xf64>, tensor<4x2xf64>) -> tensor<4x6xf64>
  %7 = arith.mulf %6, %x : tensor<4x6xf64>
  %y = tensor.collapse_shape %7 [[0, 1]] : tensor<4x6xf64> into tensor<24xf64>
)"},
      // On four ranks a window reads the rows of two others.
      {"Mixer",
       {2, 8, 4},
       R"(
func.func @main(%u: tensor<2x8x4xf64> {cp.param = "u", cp.sequence = 1 : i64},
    %in: tensor<28x4xf64> {cp.param = "in_proj"},
    %cw: tensor<16x4xf64> {cp.param = "conv"}, %cb: tensor<16xf64> {cp.param = "conv_bias"},
    %dtb: tensor<4xf64> {cp.param = "dt_bias"}, %a: tensor<4xf64> {cp.param = "A_log"},
    %d: tensor<4xf64> {cp.param = "D"}, %nw: tensor<8xf64> {cp.param = "norm"},
    %out: tensor<4x8xf64> {cp.param = "out_proj"}) -> tensor<f64> {
  %y = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb) A_log(%a)
      D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 2, num_groups = 2, state_size = 2, chunk_size = 3}
      : (tensor<2x8x4xf64>, tensor<28x4xf64>, tensor<16x4xf64>, tensor<16xf64>,
         tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<8xf64>,
         tensor<4x8xf64>) -> tensor<2x8x4xf64>
)",
       /*hasTwoGroups=*/true},
      {"Documents",
       {2, 8, 4},
       R"(
func.func @main(%u: tensor<2x8x4xf64> {cp.param = "u", cp.sequence = 1 : i64},
    %in: tensor<28x4xf64> {cp.param = "in_proj"},
    %cw: tensor<16x4xf64> {cp.param = "conv"},
    %dtb: tensor<4xf64> {cp.param = "dt_bias"}, %a: tensor<4xf64> {cp.param = "A_log"},
    %d: tensor<4xf64> {cp.param = "D"}, %out: tensor<4x8xf64> {cp.param = "out_proj"},
    %q: tensor<8x4xf64> {cp.param = "q_proj"},
    %k: tensor<4x4xf64> {cp.param = "k_proj"}) -> tensor<f64> {
  %documents = arith.constant dense<[[0, 3, 3, 8], [0, 1, 6, 8]]> : tensor<2x4xi32>
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb) A_log(%a) D(%d)
      out_proj(%out) documents(%documents)
      {num_heads = 4, head_dim = 2, num_groups = 2, state_size = 2, chunk_size = 3}
      : (tensor<2x8x4xf64>, tensor<28x4xf64>, tensor<16x4xf64>, tensor<4xf64>,
         tensor<4xf64>, tensor<4xf64>, tensor<4x8xf64>, tensor<2x4xi32>)
      -> tensor<2x8x4xf64>
  %y = cp.attention_block %0 q_proj(%q) k_proj(%k) v_proj(%k) o_proj(%out)
      documents(%documents)
      {num_heads = 4, num_kv_heads = 2, head_dim = 2, rope_theta = 10.0}
      : (tensor<2x8x4xf64>, tensor<8x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>,
         tensor<4x8xf64>, tensor<2x4xi32>) -> tensor<2x8x4xf64>
)",
       /*hasTwoGroups=*/true},
      {"Attention",
       {2, 8, 4, 3},
       R"(
!q = tensor<2x8x4x2xf64>
!k = tensor<2x8x2x2xf64>
!v = tensor<2x8x2x3xf64>
func.func @main(%q: !q {cp.param = "q", cp.sequence = 1 : i64},
    %k: !k {cp.param = "k", cp.sequence = 1 : i64},
    %v: !v {cp.param = "v", cp.sequence = 1 : i64}) -> tensor<f64> {
  %out, %lse = cp.attention %q, %k, %v {window = 5}
      : (!q, !k, !v) -> (tensor<2x8x4x3xf64>, tensor<2x4x8xf64>)
  %e = tensor.empty() : tensor<2x8x4x3xf64>
  %y = linalg.generic {indexing_maps = [
      affine_map<(b, l, h, p) -> (b, l, h, p)>, affine_map<(b, l, h, p) -> (b, h, l)>,
      affine_map<(b, l, h, p) -> (b, l, h, p)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%out, %lse : tensor<2x8x4x3xf64>, tensor<2x4x8xf64>) outs(%e : tensor<2x8x4x3xf64>) {
  ^bb0(%o: f64, %s: f64, %none: f64):
    %sum = arith.addf %o, %s : f64
    linalg.yield %sum : f64
  } -> tensor<2x8x4x3xf64>
)",
       /*hasTwoGroups=*/true},
      // Three sequences behind each other, of which one is a single token or
      // two are.
      {"PackedAttention",
       {2, 8, 4, 2},
       R"(
!q = tensor<2x8x4x2xf64>
!k = tensor<2x8x2x2xf64>
func.func @main(%q: !q {cp.param = "q", cp.sequence = 1 : i64},
    %k: !k {cp.param = "k", cp.sequence = 1 : i64},
    %v: !k {cp.param = "v", cp.sequence = 1 : i64}) -> tensor<f64> {
  %places = arith.constant dense<[[0, 1, 2, 0, 0, 1, 2, 3],
                                    [0, 0, 1, 2, 3, 4, 5, 0]]> : tensor<2x8xi64>
  %y, %lse = cp.attention %q, %k, %v places(%places) {scale = 0.5}
      : (!q, !k, !k, tensor<2x8xi64>) -> (!q, tensor<2x4x8xf64>)
)",
       /*hasTwoGroups=*/true},
      {"NotCausal",
       {2, 8, 4, 2},
       R"(
!q = tensor<2x8x4x2xf64>
func.func @main(%q: !q {cp.param = "q", cp.sequence = 1 : i64},
    %k: !q {cp.param = "k", cp.sequence = 1 : i64},
    %v: !q {cp.param = "v", cp.sequence = 1 : i64}) -> tensor<f64> {
  %y, %lse = cp.attention %q, %k, %v {causal = false}
      : (!q, !q, !q) -> (!q, tensor<2x4x8xf64>)
)"},
      {"Loss", {}, R"(
func.func @main(%h: tensor<2x8x3xf64> {cp.param = "h", cp.sequence = 1 : i64},
    %w: tensor<5x3xf64> {cp.param = "w"},
    %labels: tensor<2x8xi32> {cp.name = "labels", cp.sequence = 1 : i64},
    %each: tensor<2x8xf64> {cp.param = "weights", cp.sequence = 1 : i64}) -> tensor<f64> {
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) {ignore_index = 2}
      : (tensor<2x8x3xf64>, tensor<5x3xf64>, tensor<2x8xi32>) -> (tensor<2x8xf64>, tensor<2x8xf64>)
  %penalty = arith.mulf %lse, %lse : tensor<2x8xf64>
  %0 = arith.mulf %losses, %each : tensor<2x8xf64>
  %1 = arith.addf %0, %penalty : tensor<2x8xf64>
  %none = arith.constant dense<0.0> : tensor<f64>
  %sum = linalg.reduce ins(%1 : tensor<2x8xf64>) outs(%none : tensor<f64>) dimensions = [0, 1]
      (%in: f64, %init: f64) {
        %2 = arith.addf %in, %init : f64
        linalg.yield %2 : f64
      }
  %squares = arith.mulf %each, %each : tensor<2x8xf64>
  %count = linalg.reduce ins(%squares : tensor<2x8xf64>) outs(%none : tensor<f64>) dimensions = [0, 1]
      (%in: f64, %init: f64) {
        %2 = arith.addf %in, %init : f64
        linalg.yield %2 : f64
      }
  %y = arith.divf %sum, %count : tensor<f64>
)"},
      {"Tokens", {2, 8, 3, 4}, R"(
func.func @main(%ids: tensor<2x8xi32> {cp.name = "ids", cp.sequence = 1 : i64},
    %table: tensor<5x4xf64> {cp.param = "table"},
    %w: tensor<4xf64> {cp.param = "w"}) -> tensor<f64> {
  %0 = cp.embedding %ids in %table : (tensor<2x8xi32>, tensor<5x4xf64>) -> tensor<2x8x4xf64>
  %1 = cp.rms_norm %0 weight(%w) : (tensor<2x8x4xf64>, tensor<4xf64>) -> tensor<2x8x4xf64>
  %2 = cp.repeat %1 {dim = 2, unit = 2, times = 3} : tensor<2x8x4xf64> -> tensor<2x8x12xf64>
  %3 = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [2, 8, 3, 4]
      : tensor<2x8x12xf64> into tensor<2x8x3x4xf64>
  %places = cp.positions : tensor<8xi64>
  %4 = cp.rotary %3 positions(%places) : (tensor<2x8x3x4xf64>, tensor<8xi64>) -> tensor<2x8x3x4xf64>
  %5 = math.exp %4 : tensor<2x8x3x4xf64>
  %6 = cp.stop_gradient %5 : tensor<2x8x3x4xf64>
  %7 = arith.subf %6, %6 : tensor<2x8x3x4xf64>
  %y = arith.addf %5, %7 : tensor<2x8x3x4xf64>
)"},
  };
  return cases;
}

} // namespace cp::test
