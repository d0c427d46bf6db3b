//===- WrittenCut.h - A cut as the local ops write it -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_WRITTENCUT_H
#define CP_LIB_DIALECT_WRITTENCUT_H

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

} // namespace cp

#endif // CP_LIB_DIALECT_WRITTENCUT_H
