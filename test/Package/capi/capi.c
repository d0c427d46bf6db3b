//===- capi.c - cp-mlir from C ------------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: capi FILE
//
// Makes and reads attributes, trains a small model on 2 ranks, then shards the
// module in FILE over 4 ranks and prints it.
//
//===----------------------------------------------------------------------===//

#include "cp-c/Attributes.h"
#include "cp-c/Registration.h"
#include "cp-c/Session.h"
#include "cp/Runtime/cprt.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool condition, const char *what) {
  if (condition)
    return;
  fprintf(stderr, "capi: not so: %s\n", what);
  exit(1);
}

static void toStdout(MlirStringRef text, void *data) {
  (void)data;
  fwrite(text.data, 1, text.length, stdout);
}

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

static MlirAttribute makeMesh(MlirContext context) {
  MlirStringRef names[] = {ref("ring"), ref("u")};
  int64_t sizes[] = {2, 4};
  MlirAttribute mesh = cpMeshAttrGet(context, 2, names, sizes);
  expect(cpAttributeIsAMesh(mesh), "a mesh is a mesh");
  expect(!cpAttributeIsALayout(mesh), "a mesh is no layout");
  expect(cpMeshAttrGetNumAxes(mesh) == 2, "two axes");
  expect(mlirStringRefEqual(cpMeshAttrGetAxisName(mesh, 1), ref("u")),
         "the second axis is u");
  expect(cpMeshAttrGetAxisSize(mesh, 0) == 2, "ring has two positions");
  expect(cpMeshAttrGetNumRanks(mesh) == 8, "eight ranks");
  sizes[1] = 0;
  expect(mlirAttributeIsNull(cpMeshAttrGet(context, 2, names, sizes)),
         "an axis of size 0 gives no mesh");
  return mesh;
}

static void tryLayout(MlirContext context, MlirAttribute mesh) {
  CpCut cuts[] = {{1, 0, CP_ORDER_ZIGZAG, 1, NULL},
                  {2, 1, CP_ORDER_CONTIGUOUS, 64, NULL}};
  MlirAttribute layout = cpLayoutAttrGet(mesh, 3, 2, cuts, 0, NULL);
  expect(cpAttributeIsALayout(layout), "a layout is a layout");
  expect(cpLayoutAttrGetRank(layout) == 3, "three dimensions");
  expect(mlirAttributeEqual(cpLayoutAttrGetMesh(layout), mesh), "its mesh");
  expect(cpLayoutAttrGetNumCuts(layout) == 2, "two cuts");
  CpCut cut = cpLayoutAttrGetCut(layout, 1);
  expect(cut.dim == 2 && cut.axis == 1 && cut.order == CP_ORDER_CONTIGUOUS &&
             cut.unit == 64,
         "the second cut");
  expect(cpLayoutAttrGetNumPartial(layout) == 0, "no sum is open");
  int64_t u = 1;
  MlirAttribute partial = cpLayoutAttrGet(mesh, 3, 1, cuts, 1, &u);
  expect(cpLayoutAttrGetNumPartial(partial) == 1 &&
             cpLayoutAttrGetPartial(partial, 0) == 1,
         "a sum over u is open");

  int64_t unlike[] = {20, 44};
  CpCut given = {1, 0, CP_ORDER_SIZES, 1, unlike};
  MlirAttribute bySizes = cpLayoutAttrGet(mesh, 3, 1, &given, 0, NULL);
  CpCut got = cpLayoutAttrGetCut(bySizes, 0);
  expect(got.order == CP_ORDER_SIZES && got.sizes[0] == 20 &&
             got.sizes[1] == 44 && cut.sizes == NULL,
         "a cut by sizes has them, others none");
  expect(cpLayoutAttrGetIndices(bySizes, 1, 64, 7, NULL) == 44,
         "the last rank holds 44 of 64");
  given.sizes = NULL;
  expect(mlirAttributeIsNull(cpLayoutAttrGet(mesh, 3, 1, &given, 0, NULL)),
         "none at all give no layout");

  int64_t shape[] = {1, 64, 512};
  MlirType type =
      mlirRankedTensorTypeGet(3, shape, mlirF32TypeGet(context), layout);
  expect(mlirAttributeEqual(cpLayoutAttrOf(type), layout), "of its type");
  MlirType local = cpLayoutGetLocalType(type);
  expect(mlirShapedTypeGetDimSize(local, 1) == 32 &&
             mlirShapedTypeGetDimSize(local, 2) == 128,
         "a rank's part is 1 x 32 x 128");
  expect(mlirAttributeIsNull(cpLayoutAttrOf(local)), "no layout is left");

  CpCut outside = {3, 0, CP_ORDER_CONTIGUOUS, 1, NULL};
  expect(mlirAttributeIsNull(cpLayoutAttrGet(mesh, 3, 1, &outside, 0, NULL)),
         "a fourth dimension gives no layout");
  CpCut twice[] = {{0, 0, CP_ORDER_CONTIGUOUS, 1, NULL},
                   {1, 0, CP_ORDER_CONTIGUOUS, 1, NULL}};
  expect(mlirAttributeIsNull(cpLayoutAttrGet(mesh, 3, 2, twice, 0, NULL)),
         "an axis used twice gives no layout");
  CpCut beyond = {0, (intptr_t)1 << 32, CP_ORDER_CONTIGUOUS, 1, NULL};
  int64_t beyondToo = INT64_MIN;
  expect(
      mlirAttributeIsNull(cpLayoutAttrGet(mesh, 3, 1, &beyond, 0, NULL)) &&
          mlirAttributeIsNull(cpLayoutAttrGet(mesh, 3, 0, NULL, 1, &beyondToo)),
      "an axis that no int holds is not axis 0");
}

/// What goes from four replicas to two, on the same eight ranks.
static void tryBridge(MlirContext context) {
  MlirStringRef names[] = {ref("dp"), ref("tp")};
  int64_t four[] = {4, 2}, two[] = {2, 4};
  MlirAttribute meshes[] = {cpMeshAttrGet(context, 2, names, four),
                            cpMeshAttrGet(context, 2, names, two)};
  MlirAttribute both = cpMeshAttrRefine(2, meshes);
  expect(cpMeshAttrGetNumAxes(both) == 3 && cpMeshAttrGetNumRanks(both) == 8,
         "eight ranks on three axes");
  expect(mlirStringRefEqual(cpMeshAttrGetAxisName(both, 1), ref("dp/1")),
         "the parts of an axis have its name");

  CpCut batch = {0, 0, CP_ORDER_CONTIGUOUS, 1, NULL};
  MlirAttribute from = cpLayoutAttrGet(meshes[0], 2, 1, &batch, 0, NULL),
                to = cpLayoutAttrGet(meshes[1], 2, 1, &batch, 0, NULL);
  expect(cpLayoutAttrGetNumParts(from, 0) == 4 &&
             cpLayoutAttrGetNumParts(to, 0) == 2 &&
             cpLayoutAttrGetNumParts(to, 1) == 1 &&
             cpLayoutAttrGetNumParts(to, 2) == 0,
         "a fan-in of scale 2");
  int64_t indices[8];
  expect(cpLayoutAttrGetIndices(from, 0, 8, 5, NULL) == 2 &&
             cpLayoutAttrGetIndices(from, 0, 8, 5, indices) == 2 &&
             indices[0] == 4 && indices[1] == 5,
         "rank 5 holds 4 and 5");
  expect(cpLayoutAttrGetIndices(to, 0, 8, 5, indices) == 4 && indices[0] == 4 &&
             indices[3] == 7,
         "and then 4 to 7");
  expect(cpLayoutAttrGetIndices(from, 0, 6, 5, indices) == -1 &&
             cpLayoutAttrGetIndices(from, 0, 8, 8, indices) == -1 &&
             cpLayoutAttrGetIndices(from, 2, 8, 5, indices) == -1,
         "6 do not divide, and there is neither rank 8 nor dimension 2");
  MlirAttribute refined = cpLayoutAttrRefine(from, 2, meshes);
  expect(cpLayoutAttrGetNumCuts(refined) == 2 &&
             mlirAttributeEqual(cpLayoutAttrGetMesh(refined), both),
         "two axes cut the batch");

  CpCut zigzag = {0, 0, CP_ORDER_ZIGZAG, 1, NULL};
  expect(mlirAttributeIsNull(cpLayoutAttrRefine(
             cpLayoutAttrGet(meshes[0], 2, 1, &zigzag, 0, NULL), 2, meshes)),
         "two axes make no zigzag");
  expect(mlirAttributeIsNull(cpLayoutAttrRefine(to, 1, meshes)),
         "a layout on another mesh is not refined");
  expect(mlirAttributeIsNull(cpMeshAttrRefine(0, NULL)) &&
             mlirAttributeIsNull(cpMeshAttrRefine(-1, meshes)) &&
             mlirAttributeIsNull(cpMeshAttrRefine(1, &from)) &&
             mlirAttributeIsNull(
                 cpLayoutAttrRefine(mlirAttributeGetNull(), 2, meshes)),
         "nothing is refined to nothing");
  int64_t three[] = {3, 2};
  meshes[1] = cpMeshAttrGet(context, 2, names, three);
  expect(mlirAttributeIsNull(cpMeshAttrRefine(2, meshes)),
         "meshes of six and of eight ranks have no common parts");
}

static MlirModule parseFile(MlirContext context, const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "rb");
  expect(file != NULL, "the file opens");
  size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = 0;
  MlirModule module = mlirModuleCreateParse(context, ref(text));
  expect(!mlirModuleIsNull(module), "the module parses");
  return module;
}

/// Shards with these options; whether that succeeded.
static bool shard(MlirModule module, CpShardPipelineOptions options) {
  MlirContext context = mlirModuleGetContext(module);
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result = cpBuildShardPipeline(
      mlirPassManagerGetAsOpPassManager(manager), &options);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(manager);
  return mlirLogicalResultIsSuccess(result);
}

/// How many results the only function of a module has.
static intptr_t numResults(MlirModule module) {
  MlirOperation function =
      mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirAttribute type =
      mlirOperationGetAttributeByName(function, ref("function_type"));
  return mlirFunctionTypeGetNumResults(mlirTypeAttrGetValue(type));
}

/// The text of a module. The caller frees it.
static void append(MlirStringRef part, void *data) {
  char **text = data;
  size_t length = strlen(*text);
  *text = realloc(*text, length + part.length + 1);
  expect(*text != NULL, "the text fits memory");
  memcpy(*text + length, part.data, part.length);
  (*text)[length + part.length] = 0;
}
static char *textOf(MlirModule module) {
  char *text = calloc(1, 1);
  expect(text != NULL, "the text fits memory");
  mlirOperationPrint(mlirModuleGetOperation(module), append, &text);
  return text;
}

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
static void trySession(MlirContext context, const char *transport) {
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

static void lower(MlirModule module, const CpLowerPipelineOptions *options) {
  MlirPassManager manager = mlirPassManagerCreate(mlirModuleGetContext(module));
  cpBuildLowerPipeline(mlirPassManagerGetAsOpPassManager(manager), options);
  expect(mlirLogicalResultIsSuccess(
             mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))),
         "the program of a rank lowers");
  mlirPassManagerDestroy(manager);
}

int main(int argc, char **argv) {
  expect(argc == 2 || argc == 3, "a file, and the transport of a job if any");
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  cpRegisterAllDialects(registry);
  cpRegisterAllPasses();
  cpRegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);

  if (argc == 3) {
    trySession(context, argv[2]);
    mlirContextDestroy(context);
    return 0;
  }
  tryLayout(context, makeMesh(context));
  tryBridge(context);

  CpShardPipelineOptions options = {.mesh = ref("cp=4"),
                                    .mixer = ref("hidden")};
  MlirModule module = parseFile(context, argv[1]);
  expect(shard(module, options), "the module is sharded");
  mlirOperationPrint(mlirModuleGetOperation(module), toStdout, NULL);
  lower(module, NULL);
  mlirModuleDestroy(module);
  module = parseFile(context, argv[1]);
  CpLowerPipelineOptions lowering = {.overlap = true, .device = true};
  expect(shard(module, options), "the module is sharded again");
  lower(module, &lowering);
  mlirModuleDestroy(module);

  tryExpose(context, argv[1]);
  tryAttentions(context);
  tryGradients(context);
  trySession(context, NULL);

  options.mesh = ref("cp=5");
  module = parseFile(context, argv[1]);
  expect(!shard(module, options), "five ranks are refused");
  mlirModuleDestroy(module);
  mlirContextDestroy(context);

  expect(cprt_api_version() == (CPRT_VERSION_MAJOR << 16 | CPRT_VERSION_MINOR),
         "the runtime is the header's");
  return 0;
}
