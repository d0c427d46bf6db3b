//===- attributes.c - Attributes from C ---------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Attributes.h"
#include "capi.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

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
  expect(mlirAttributeIsNull(cpMeshAttrGet(context, -1, names, sizes)),
         "less than no axes give no mesh");
  expect(mlirAttributeIsNull(cpLayoutAttrGet(mesh, -1, 0, NULL, 0, NULL)),
         "less than no dimensions give no layout");
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
  int64_t ofEight[] = {9, 8, 8, 8, 8, 8, 8, 7};
  CpCut joint[] = {{1, 0, CP_ORDER_CONTIGUOUS, 1, NULL},
                   {1, 1, CP_ORDER_SIZES, 1, ofEight}};
  MlirAttribute together = cpLayoutAttrGet(mesh, 3, 2, joint, 0, NULL);
  expect(cpLayoutAttrGetIndices(together, 1, 64, 7, NULL) == 7 &&
             cpLayoutAttrGetCut(together, 1).sizes[7] == 7,
         "sizes of the ranks on both axes");
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

void tryAttributes(MlirContext context) {
  tryLayout(context, makeMesh(context));
  tryBridge(context);
}
