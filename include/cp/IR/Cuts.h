//===- Cuts.h - The cuts of a dimension as attributes -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts and local ops hold the cuts of a dimension as an array of #cp.cut,
// major to minor.
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CUTS_H
#define CP_IR_CUTS_H

#include "cp/Layout/Layout.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace cp {
class MeshAttr;

/// The cuts as values of the layout algebra; the axis of one that `mesh` does
/// not have is -1. `cuts` holds nothing but #cp.cut.
std::vector<Cut> cutsOf(MeshAttr mesh, mlir::ArrayAttr cuts);
/// The inverse, for axes of the mesh. Units stay.
mlir::ArrayAttr cutsAttr(MeshAttr mesh, llvm::ArrayRef<Cut> cuts);
/// As local ops have them: units are left out that say nothing of where
/// elements are.
mlir::ArrayAttr localCutsAttr(MeshAttr mesh, llvm::ArrayRef<Cut> cuts);

/// The names of the axes, in the order of the cuts.
mlir::ArrayAttr axesOf(mlir::ArrayAttr cuts);

/// Reads and writes `["ring" zigzag, "u" : 2]`: the directive `custom<Cuts>`.
mlir::ParseResult parseCuts(mlir::OpAsmParser &parser, mlir::ArrayAttr &cuts);
void printCuts(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               mlir::ArrayAttr cuts);

} // namespace cp

#endif // CP_IR_CUTS_H
