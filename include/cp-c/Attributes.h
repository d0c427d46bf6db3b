//===- Attributes.h - Meshes and layouts from C -------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11, in the manner of mlir-c. Attributes belong to their context. Where
// an argument does not fit, a null attribute comes back and the reason goes to
// the diagnostics of the context; getters ask for a position below the count
// that the call before them returns.
//
//===----------------------------------------------------------------------===//

#ifndef CP_C_ATTRIBUTES_H
#define CP_C_ATTRIBUTES_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// #cp.mesh
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool cpAttributeIsAMesh(MlirAttribute attribute);

/// Ranks arranged on `numAxes` named axes, major first.
MLIR_CAPI_EXPORTED MlirAttribute cpMeshAttrGet(MlirContext context,
                                               intptr_t numAxes,
                                               const MlirStringRef *names,
                                               const int64_t *sizes);
MLIR_CAPI_EXPORTED intptr_t cpMeshAttrGetNumAxes(MlirAttribute mesh);
/// The name lives as long as the context.
MLIR_CAPI_EXPORTED MlirStringRef cpMeshAttrGetAxisName(MlirAttribute mesh,
                                                       intptr_t axis);
MLIR_CAPI_EXPORTED int64_t cpMeshAttrGetAxisSize(MlirAttribute mesh,
                                                 intptr_t axis);
/// The product of the sizes.
MLIR_CAPI_EXPORTED int64_t cpMeshAttrGetNumRanks(MlirAttribute mesh);

/// The coarsest mesh of which each axis of `numMeshes` meshes over the same
/// ranks, one or more, is some neighbouring axes: what cp-unify-meshes brings
/// the layouts of a function to that has bridges between them. Null where there
/// is none or one is no mesh and, after an error to the context's diagnostics,
/// where they have no common parts.
MLIR_CAPI_EXPORTED MlirAttribute cpMeshAttrRefine(intptr_t numMeshes,
                                                  const MlirAttribute *meshes);

//===----------------------------------------------------------------------===//
// #cp.layout
//===----------------------------------------------------------------------===//

/// Which elements of a dimension position r on an axis of size R holds.
typedef enum CpOrder {
  /// Block r of R.
  CP_ORDER_CONTIGUOUS = 0,
  /// Blocks r and 2R-1-r of 2R.
  CP_ORDER_ZIGZAG = 1,
  /// Runs r, r+R, r+2R, ... of `unit` elements.
  CP_ORDER_STRIPED = 2,
  /// Blocks r and 2R-1-r of 2R of each document of a packed row.
  CP_ORDER_ZIGZAG_PER_DOCUMENT = 3,
  /// Block r, of as many elements as `sizes` says.
  CP_ORDER_SIZES = 4,
  /// Block r of R of each document of a packed row.
  CP_ORDER_CONTIGUOUS_PER_DOCUMENT = 5
} CpOrder;

/// One mesh axis that cuts one dimension. Runs of `unit` elements stay whole.
typedef struct CpCut {
  intptr_t dim;
  intptr_t axis;
  CpOrder order;
  int64_t unit;
  /// With CP_ORDER_SIZES one for each position on the axis, or on all axes that
  /// cut the dimension, of which this is the last; null otherwise. Of a cut
  /// that a layout gives it is the context's.
  const int64_t *sizes;
} CpCut;

MLIR_CAPI_EXPORTED bool cpAttributeIsALayout(MlirAttribute attribute);

/// The layout of a tensor of `rank` dimensions. The cuts of one dimension stand
/// in order, major to minor; over the axes in `partial` (ascending) the ranks'
/// values have yet to be added.
MLIR_CAPI_EXPORTED MlirAttribute
cpLayoutAttrGet(MlirAttribute mesh, intptr_t rank, intptr_t numCuts,
                const CpCut *cuts, intptr_t numPartial, const int64_t *partial);

/// The layout of a ranked tensor type; null when it has none.
MLIR_CAPI_EXPORTED MlirAttribute cpLayoutAttrOf(MlirType type);
MLIR_CAPI_EXPORTED MlirAttribute cpLayoutAttrGetMesh(MlirAttribute layout);
/// The number of dimensions.
MLIR_CAPI_EXPORTED intptr_t cpLayoutAttrGetRank(MlirAttribute layout);
MLIR_CAPI_EXPORTED intptr_t cpLayoutAttrGetNumCuts(MlirAttribute layout);
/// By dimension, and major to minor within one.
MLIR_CAPI_EXPORTED CpCut cpLayoutAttrGetCut(MlirAttribute layout,
                                            intptr_t position);
MLIR_CAPI_EXPORTED intptr_t cpLayoutAttrGetNumPartial(MlirAttribute layout);
MLIR_CAPI_EXPORTED int64_t cpLayoutAttrGetPartial(MlirAttribute layout,
                                                  intptr_t position);

/// The same layout, whose mesh is one of `numMeshes`, on their refinement. Null
/// for null and where there is no refinement, as above, and after an error
/// where its mesh is none of them or a cut in zigzag order is over an axis that
/// has several parts.
MLIR_CAPI_EXPORTED MlirAttribute cpLayoutAttrRefine(
    MlirAttribute layout, intptr_t numMeshes, const MlirAttribute *meshes);

/// Into how many parts dimension `dim` is cut; 1 where it is not, 0 where the
/// layout has no such dimension. What goes from a layout with more parts of the
/// batch to one with fewer is a fan-in, the other way a fan-out, and the scale
/// is the quotient.
MLIR_CAPI_EXPORTED int64_t cpLayoutAttrGetNumParts(MlirAttribute layout,
                                                   intptr_t dim);

/// Which elements of dimension `dim`, of `size` in all, a rank holds: writes
/// their numbers to `indices`, in the order in which it has them, unless that
/// is null. Returns how many they are; -1 where the layout has no such
/// dimension, does not divide it, or its mesh has no such rank.
MLIR_CAPI_EXPORTED int64_t cpLayoutAttrGetIndices(MlirAttribute layout,
                                                  intptr_t dim, int64_t size,
                                                  int64_t rank,
                                                  int64_t *indices);

/// The type of one rank's part of a tensor, without layout; `type` itself when
/// it has none.
MLIR_CAPI_EXPORTED MlirType cpLayoutGetLocalType(MlirType type);

#ifdef __cplusplus
}
#endif

#endif /* CP_C_ATTRIBUTES_H */
