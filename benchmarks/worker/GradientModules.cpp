//===- GradientModules.cpp - Ops whose gradients are timed ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientModules.h"

#include "cp/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace cp::bench {

/// Null after an error, which diagnostics say.
static OwningOpRef<ModuleOp> parsed(MLIRContext &context,
                                    const std::string &text) {
  return parseSourceString<ModuleOp>(text, &context);
}

static const char *elementOf(const Question &q) {
  return q.isNarrow() ? "bf16" : "f32";
}

/// A function of whole tensors with the gradients by all of its parameters.
static OwningOpRef<ModuleOp> withGradients(MLIRContext &context,
                                           const std::string &text) {
  OwningOpRef<ModuleOp> module = parsed(context, text);
  DifferentiateOptions options;
  options.cotangents = true;
  PassManager manager(&context);
  buildGlobalGradientPipeline(manager, std::nullopt, options);
  if (!module || failed(manager.run(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> ssdStep(MLIRContext &context, const Question &q) {
  int64_t length = q.integer("length", 2048), heads = q.integer("heads", 24);
  const char *type = elementOf(q);
  std::string x = llvm::formatv("tensor<1x{0}x{1}x64x{2}>", length, heads,
                                type),
              dt = llvm::formatv("tensor<1x{0}x{1}x{2}>", length, heads, type),
              head = llvm::formatv("tensor<{0}x{1}>", heads, type),
              b = llvm::formatv("tensor<1x{0}x1x128x{1}>", length, type);
  std::string text = llvm::formatv(
      R"(func.func @main(
    %x: {0} {{cp.param = "x"}, %dt: {1} {{cp.param = "dt"},
    %a: {2} {{cp.param = "A_log", cp.init = {{kind = "log_uniform", low = 1.0, high = 15.0}},
    %b: {3} {{cp.param = "B"}, %c: {3} {{cp.param = "C"},
    %d: {2} {{cp.param = "D"}, %bias: {2} {{cp.param = "dt_bias"}) -> ({0} {{cp.name = "y"}) {{
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) D(%d) dt_bias(%bias)
      : ({0}, {1}, {2}, {3}, {3}, {2}, {2}) -> ({0}, tensor<1x{4}x64x128x{5}>)
  return %y : {0}
})",
      x, dt, head, b, heads, type);
  return withGradients(context, text);
}

OwningOpRef<ModuleOp> attentionStep(MLIRContext &context, const Question &q) {
  int64_t length = q.integer("length", 2048), heads = q.integer("heads", 16),
          size = q.integer("size", 128);
  std::string type = llvm::formatv("tensor<1x{0}x{1}x{2}x{3}>", length, heads,
                                   size, elementOf(q));
  std::string text = llvm::formatv(
      R"(func.func @main(%q: {0} {{cp.param = "q"}, %k: {0} {{cp.param = "k"},
                %v: {0} {{cp.param = "v"}) -> ({0} {{cp.name = "y"}) {{
  %o, %lse = cp.attention %q, %k, %v {{causal = true}
      : ({0}, {0}, {0}) -> ({0}, tensor<1x{1}x{2}xf32>)
  return %o : {0}
})",
      type, heads, length);
  return withGradients(context, text);
}

OwningOpRef<ModuleOp> weightGrad(MLIRContext &context, const Question &q) {
  int64_t m = q.integer("m", 2048), n = q.integer("n", 3352),
          k = q.integer("k", 768);
  return parsed(context, llvm::formatv(
                             R"(#x = affine_map<(b, l, n, k) -> (b, l, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
#w = affine_map<(b, l, n, k) -> (n, k)>
func.func @main(%x: tensor<1x{0}x{2}xf32>, %dy: tensor<1x{0}x{1}xf32>)
    -> tensor<{1}x{2}xf32> {{
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{1}x{2}xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<{1}x{2}xf32>) -> tensor<{1}x{2}xf32>
  %0 = linalg.generic {{indexing_maps = [#x, #y, #w],
      iterator_types = ["reduction", "reduction", "parallel", "parallel"]}
      ins(%x, %dy : tensor<1x{0}x{2}xf32>, tensor<1x{0}x{1}xf32>)
      outs(%z : tensor<{1}x{2}xf32>) {{
  ^bb0(%a: f32, %g: f32, %acc: f32):
    %1 = arith.mulf %g, %a : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<{1}x{2}xf32>
  return %0 : tensor<{1}x{2}xf32>
})",
                             m, n, k));
}

OwningOpRef<ModuleOp> conv1dGrad(MLIRContext &context, const Question &q) {
  int64_t length = q.integer("length", 2048),
          channels = q.integer("channels", 1792);
  return parsed(context, llvm::formatv(
                             R"(!x = tensor<1x{0}x{1}x{2}>
func.func @main(%x: !x, %w: tensor<{1}x4x{2}>, %bias: tensor<{1}x{2}>, %dy: !x)
    -> (!x, tensor<{1}x4xf32>, tensor<{1}xf32>) {{
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) bias(%bias) from %dy {{silu = true}
      : (!x, tensor<{1}x4x{2}>, !x, tensor<{1}x{2}>)
      -> (!x, tensor<{1}x4xf32>, tensor<{1}xf32>, tensor<1x3x{1}x{2}>)
  return %dx, %dw, %db : !x, tensor<{1}x4xf32>, tensor<{1}xf32>
})",
                             length, channels, elementOf(q)));
}

OwningOpRef<ModuleOp> rmsNormGrad(MLIRContext &context, const Question &q) {
  int64_t length = q.integer("length", 2048),
          channels = q.integer("channels", 1536);
  return parsed(context, llvm::formatv(
                             R"(!x = tensor<1x{0}x{1}x{2}>
func.func @main(%x: !x, %w: tensor<{1}x{2}>, %gate: !x, %dy: !x)
    -> (!x, tensor<{1}xf32>, !x) {{
  %dx, %dw, %dg = cp.rms_norm_grad %x weight(%w) gate(%gate) from %dy
      : (!x, !x, tensor<{1}x{2}>, !x) -> (!x, tensor<{1}xf32>, !x)
  return %dx, %dw, %dg : !x, tensor<{1}xf32>, !x
})",
                             length, channels, elementOf(q)));
}

} // namespace cp::bench
