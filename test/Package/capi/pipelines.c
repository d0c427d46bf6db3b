//===- pipelines.c - Passes from C --------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "capi.h"
#include "mlir-c/BuiltinAttributes.h"

#include <stdlib.h>
#include <string.h>

static const char *const attention =
    "func.func @main(%q: tensor<1x16x4x2xf64> {cp.sequence = 1 : i64},\n"
    "    %k: tensor<1x16x2x2xf64> {cp.sequence = 1 : i64})\n"
    "    -> tensor<1x16x4x2xf64> {\n"
    "  %o, %lse = cp.attention %q, %k, %k : (tensor<1x16x4x2xf64>,\n"
    "      tensor<1x16x2x2xf64>, tensor<1x16x2x2xf64>)\n"
    "      -> (tensor<1x16x4x2xf64>, tensor<1x4x16xf64>)\n"
    "  return %o : tensor<1x16x4x2xf64>\n"
    "}\n";

/// Shards the attention, of which the program must then have this text.
static void tryAttention(MlirContext context, CpShardPipelineOptions options,
                         const char *expected) {
  MlirModule module = mlirModuleCreateParse(context, ref(attention));
  expect(!mlirModuleIsNull(module), "the attention parses");
  expect(shard(module, options), "the attention is sharded");
  char *text = textOf(module);
  expect(strstr(text, expected) != NULL, expected);
  free(text);
  mlirModuleDestroy(module);
}

static void tryAttentions(MlirContext context) {
  CpShardPipelineOptions options = {.mesh = ref("ring=2,u=2,tp=2"),
                                    .axis = ref("ring,u"),
                                    .order = ref("striped:2"),
                                    .attention = ref("2d")};
  MlirModule unused = mlirModuleCreateParse(context, ref(attention));
  expect(!shard(unused, options), "an axis that cuts nothing is refused");
  mlirModuleDestroy(unused);
  options.replicateUnused = true;
  tryAttention(context, options, "cp.ring_attention");
  tryAttention(context, options, "[{}, {\"ring\" striped : 2}, {\"u\"}, {}]");
  options.replicateUnused = false;
  options.tensorAxis = ref("tp");
  tryAttention(context, options, "over [\"tp\"]");
  options.attention = ref("gather");
  tryAttention(context, options, "cp.attention_rows");
  options.tensorRows = true;
  tryAttention(context, options, "{\"ring\" striped : 2, \"u\", \"tp\"}");
  options.tensorRows = false;
  options.tensorAxis = ref("");
  options.order = ref("sideways");
  MlirModule module = mlirModuleCreateParse(context, ref(attention));
  expect(!shard(module, options), "an unknown order is refused");
  mlirModuleDestroy(module);
}

/// Every value is a result besides the model's own.
static void tryExpose(MlirContext context, const char *path) {
  CpShardPipelineOptions options = {.mesh = ref("cp=4")};
  MlirModule module = parseFile(context, path);
  expect(shard(module, options), "the module is sharded");
  intptr_t own = numResults(module);
  mlirModuleDestroy(module);

  options.expose = true;
  module = parseFile(context, path);
  expect(shard(module, options), "the module is sharded and exposed");
  expect(numResults(module) > own, "values are results besides the model's");
  mlirModuleDestroy(module);
}

static const char *const product =
    "func.func @main(%x: tensor<1x16x4xf64> {cp.sequence = 1 : i64},\n"
    "    %w: tensor<4x6xf64> {cp.param = \"w\"}) -> tensor<1x16x6xf64> {\n"
    "  %e = tensor.empty() : tensor<1x16x6xf64>\n"
    "  %y = linalg.generic {indexing_maps = [\n"
    "      affine_map<(b, l, o, i) -> (b, l, i)>,\n"
    "      affine_map<(b, l, o, i) -> (i, o)>,\n"
    "      affine_map<(b, l, o, i) -> (b, l, o)>], iterator_types =\n"
    "      [\"parallel\", \"parallel\", \"parallel\", \"reduction\"]}\n"
    "      ins(%x, %w : tensor<1x16x4xf64>, tensor<4x6xf64>)\n"
    "      outs(%e : tensor<1x16x6xf64>) {\n"
    "  ^bb0(%a: f64, %b: f64, %c: f64):\n"
    "    %m = arith.mulf %a, %b : f64\n"
    "    %s = arith.addf %c, %m : f64\n"
    "    linalg.yield %s : f64\n"
    "  } -> tensor<1x16x6xf64>\n"
    "  return %y : tensor<1x16x6xf64>\n"
    "}\n";

/// Gradients of a weight by both ways: an argument for the result's cotangent,
/// and a sum over the ranks that have the tokens.
static void tryGradients(MlirContext context) {
  static const char *const ways[] = {"global", "local"};
  for (int i = 0; i < 2; ++i) {
    MlirModule module = mlirModuleCreateParse(context, ref(product));
    expect(!mlirModuleIsNull(module), "the product parses");
    CpShardPipelineOptions options = {.mesh = ref("cp=4"),
                                      .gradients = ref("cotangents"),
                                      .differentiate = ref(ways[i])};
    expect(shard(module, options), "the product is differentiated");
    expect(numResults(module) == 2, "a result and a gradient");
    char *text = textOf(module);
    expect(strstr(text, "cp.gradient = \"w\"") != NULL, ways[i]);
    expect(strstr(text, "cp.all_reduce") != NULL, ways[i]);
    free(text);
    mlirModuleDestroy(module);
  }
  MlirModule module = mlirModuleCreateParse(context, ref(product));
  CpShardPipelineOptions options = {.mesh = ref("cp=4"),
                                    .gradients = ref("losses")};
  expect(!shard(module, options), "gradients of what there is not are refused");
  options.gradients = ref("cotangents");
  options.split = true;
  expect(shard(module, options), "the product is split");
  char *text = textOf(module);
  expect(strstr(text, "@main_forward") && strstr(text, "@main_backward"), text);
  free(text);
  mlirModuleDestroy(module);
  module = mlirModuleCreateParse(context, ref(product));
  options.split = false;
  options.gradients = ref("");
  options.differentiate = ref("twice");
  expect(!shard(module, options), "an unknown way is refused");
  mlirModuleDestroy(module);
}

void tryPipelines(MlirContext context, const char *path) {
  tryExpose(context, path);
  tryAttentions(context);
  tryGradients(context);
}
