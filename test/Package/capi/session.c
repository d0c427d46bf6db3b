//===- session.c - Training from C --------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Session.h"
#include "capi.h"

#include <stdio.h>
#include <string.h>

static const char *const squares =
    "func.func @main(%x: tensor<1x8xf64> {cp.name = \"x\",\n"
    "    cp.sequence = 1 : i64}, %w: tensor<8xf64> {cp.param = \"w\"})\n"
    "    -> (tensor<f64> {cp.name = \"loss\"}) {\n"
    "  %z = arith.constant dense<0.0> : tensor<f64>\n"
    "  %0 = linalg.generic {indexing_maps = [\n"
    "      affine_map<(b, l, i) -> (b, l)>, affine_map<(b, l, i) -> (i)>,\n"
    "      affine_map<(b, l, i) -> ()>],\n"
    "      iterator_types = [\"reduction\", \"reduction\", \"reduction\"]}\n"
    "      ins(%x, %w : tensor<1x8xf64>, tensor<8xf64>)\n"
    "      outs(%z : tensor<f64>) {\n"
    "  ^bb0(%a: f64, %b: f64, %c: f64):\n"
    "    %m = arith.mulf %b, %b : f64\n"
    "    %s = arith.mulf %a, %m : f64\n"
    "    %t = arith.addf %c, %s : f64\n"
    "    linalg.yield %t : f64\n"
    "  } -> tensor<f64>\n"
    "  return %0 : tensor<f64>\n"
    "}\n";

/// What a session said last.
static char said[256];
static void listen(MlirStringRef text, void *data) {
  (void)data;
  snprintf(said, sizeof(said), "%.*s", (int)text.length, text.data);
}

static bool set(CpSession session, const char *name, const void *data,
                size_t bytes) {
  return mlirLogicalResultIsSuccess(
      cpSessionSet(session, ref(name), data, bytes, listen, NULL));
}

/// Steps of plain gradient descent on sum_l x_l * sum_i w_i^2, of which each
/// multiplies w by 1 - 2 rate sum x. With a transport this process is one of
/// the two ranks.
void trySession(MlirContext context, const char *transport) {
  MlirModule module = mlirModuleCreateParse(context, ref(squares));
  expect(!mlirModuleIsNull(module), "the squares parse");
  // Sums that go on meanwhile are the same.
  CpShardPipelineOptions options = {.mesh = ref("cp=2"),
                                    .gradients = ref("loss"),
                                    .optimizer = ref("sgd"),
                                    .overlap = transport != NULL};
  CpSession session =
      transport ? cpSessionCreateInJob(module, &options, false, 1,
                                       ref(transport), listen, NULL)
                : cpSessionCreate(module, &options, false, 1, listen, NULL);
  expect(!cpSessionIsNull(session), said);
  // It has a copy.
  mlirModuleDestroy(module);
  expect(cpSessionGetNumPrograms(session) == 1, "a step is one program");
  bool hasWeights = false;
  for (intptr_t i = 0; i < cpSessionGetNumArguments(session); ++i) {
    CpTensor tensor = cpSessionGetArgument(session, i);
    if (!mlirStringRefEqual(tensor.name, ref("w")))
      continue;
    hasWeights = tensor.isParam && tensor.dtype == CPRT_F64 &&
                 tensor.rank == 1 && tensor.sizes[0] == 8 && tensor.bytes == 64;
  }
  expect(hasWeights, "w is a parameter of 8 numbers");
  expect(
      mlirStringRefEqual(cpSessionGetResult(session, 0, 0).name, ref("loss")),
      "the first result is the loss");

  expect(mlirLogicalResultIsFailure(cpSessionStep(session, 0, listen, NULL)) &&
             strstr(said, "was never set"),
         said);
  double x[8], w[8], rate = 0.01, clip = 1e9;
  for (int i = 0; i < 8; ++i) {
    x[i] = 0.25 * i;
    w[i] = i - 3;
  }
  expect(!set(session, "x", x, 8) && strstr(said, "'x' has 64 bytes"), said);
  expect(!set(session, "y", x, 8) && strstr(said, "no program has"), said);
  expect(set(session, "x", x, sizeof(x)) && set(session, "w", w, sizeof(w)) &&
             set(session, "rate", &rate, sizeof(rate)) &&
             set(session, "clip", &clip, sizeof(clip)),
         said);
  double sum = 7, loss = 0;
  for (int step = 0; step < 3; ++step) {
    expect(mlirLogicalResultIsSuccess(cpSessionStep(session, 0, listen, NULL)),
           said);
    double expected = 0;
    for (int i = 0; i < 8; ++i) {
      expected += sum * w[i] * w[i];
      w[i] *= 1 - 2 * rate * sum;
    }
    expect(mlirLogicalResultIsSuccess(cpSessionGet(session, ref("loss"), &loss,
                                                   sizeof(loss), listen, NULL)),
           said);
    double distance = loss / expected - 1;
    expect(distance < 1e-12 && distance > -1e-12, "the loss is the sum");
    expect(step == 0 || cpSessionGetAllocations(session) == 0,
           "only a first step allocates");
    expect(cpSessionGetSeconds(session) > 0, "a step takes time");
  }
  double trained[8];
  expect(mlirLogicalResultIsSuccess(cpSessionGet(
             session, ref("w"), trained, sizeof(trained), listen, NULL)),
         said);
  for (int i = 0; i < 8; ++i)
    expect(trained[i] - w[i] < 1e-12 && w[i] - trained[i] < 1e-12,
           "w is stepped three times");
  cpSessionDestroy(session);

  options.gradients = ref("cotangents");
  module = mlirModuleCreateParse(context, ref(squares));
  expect(cpSessionIsNull(
             cpSessionCreate(module, &options, false, 1, listen, NULL)) &&
             strstr(said, "gradients of a loss"),
         said);
  mlirModuleDestroy(module);
}
