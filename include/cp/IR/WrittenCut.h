//===- WrittenCut.h - A cut as the local ops write it -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_WRITTENCUT_H
#define CP_IR_WRITTENCUT_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// The axes of a cut and, where they are not contiguous, their orders: what ops
/// take whose rows are a part of the sequence.
struct WrittenCut {
  mlir::ArrayAttr axes;
  mlir::DenseBoolArrayAttr zigzag;
  mlir::DenseI64ArrayAttr striped;

  WrittenCut(mlir::Builder &builder, MeshAttr mesh, llvm::ArrayRef<Cut> cuts) {
    llvm::SmallVector<mlir::Attribute> names;
    llvm::SmallVector<bool> folded;
    llvm::SmallVector<int64_t> stripes;
    for (const Cut &cut : cuts) {
      names.push_back(mesh.getNames()[cut.axis]);
      folded.push_back(cut.order == Order::Zigzag);
      stripes.push_back(cut.order == Order::Striped ? cut.unit : 0);
    }
    axes = builder.getArrayAttr(names);
    if (llvm::is_contained(folded, true))
      zigzag = builder.getDenseBoolArrayAttr(folded);
    if (llvm::any_of(stripes, [](int64_t unit) { return unit != 0; }))
      striped = builder.getDenseI64ArrayAttr(stripes);
  }
};

/// The inverse: the cuts that a verified op with `axes` of a `mesh` and with
/// `zigzag` and `striped` (units, or 0) has written, one for each axis.
template <typename OpTy> std::vector<Cut> writtenCuts(OpTy op) {
  Mesh mesh = op.getMesh().toMesh();
  std::optional<llvm::ArrayRef<bool>> zigzag = op.getZigzag();
  std::optional<llvm::ArrayRef<int64_t>> striped = op.getStriped();
  std::vector<Cut> cuts;
  for (mlir::Attribute name : op.getAxes()) {
    size_t i = cuts.size();
    Cut cut;
    cut.axis = mesh.findAxis(llvm::cast<mlir::StringAttr>(name).getValue());
    if (striped && (*striped)[i] > 0) {
      cut.order = Order::Striped;
      cut.unit = (*striped)[i];
    } else if (zigzag && (*zigzag)[i]) {
      cut.order = Order::Zigzag;
    }
    cuts.push_back(cut);
  }
  return cuts;
}

} // namespace cp

#endif // CP_IR_WRITTENCUT_H
