//===- VerifyUtils.h - Messages of the verifiers ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_VERIFYUTILS_H
#define CP_LIB_DIALECT_VERIFYUTILS_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// The size as types print it: `?` where it is not known.
std::string sizeText(int64_t size);

/// A shape for a message: `[1, ?, 8]`.
std::string sizesText(llvm::ArrayRef<int64_t> shape);

/// Fails with `label` unless `value` is null or has exactly the shape
/// `expected` (a dynamic size on either side matches anything).
llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef label,
                                llvm::StringRef what, mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);

/// Fails with `label` unless `value` has the shape `expected` and the element
/// type of `source`.
llvm::LogicalResult expectReshaped(mlir::Operation *op, llvm::StringRef label,
                                   llvm::StringRef what, mlir::Value value,
                                   mlir::Value source,
                                   llvm::ArrayRef<int64_t> expected);

/// Fails with `label` unless `value` is null or has the type `expected`.
llvm::LogicalResult expectType(mlir::Operation *op, llvm::StringRef label,
                               llvm::StringRef what, mlir::Value value,
                               mlir::Type expected);

/// Fails with `label` unless `value` is null or has this shape and these
/// elements.
llvm::LogicalResult expectTensor(mlir::Operation *op, llvm::StringRef label,
                                 llvm::StringRef what, mlir::Value value,
                                 llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element);

/// Fails with `label` unless `documents`, which may be null, are a list for
/// each of `batch` elements, with an element or more.
llvm::LogicalResult expectDocuments(mlir::Operation *op, llvm::StringRef label,
                                    mlir::Value documents, int64_t batch);

/// Fails with `label` where `places` are those of documents, which all begin
/// anew, so that nothing reads `initial`; either may be null.
llvm::LogicalResult expectGoesOn(mlir::Operation *op, llvm::StringRef label,
                                 mlir::Value initial, mlir::Value places);

/// As expectDocuments, of attention along a ring: documents where the cuts are
/// per document, and only there.
llvm::LogicalResult verifyRingDocuments(mlir::Operation *op,
                                        llvm::StringRef label, MeshAttr mesh,
                                        mlir::ArrayAttr cuts,
                                        mlir::Value documents, int64_t batch);

/// Fails with `label` unless all operands and results of floating-point numbers
/// have one element type.
llvm::LogicalResult expectOneElementType(mlir::Operation *op,
                                         llvm::StringRef label);

/// Fails with `label` unless `dim` is a dimension of the tensor.
llvm::LogicalResult expectDim(mlir::Operation *op, llvm::StringRef label,
                              int64_t dim, mlir::Value tensor);

/// Fails with `label` unless `value` is at least `least`.
llvm::LogicalResult expectAtLeast(mlir::Operation *op, llvm::StringRef label,
                                  llvm::StringRef what, int64_t value,
                                  int64_t least);

/// Fails with `label` unless `divisor`, which is positive, divides the size
/// `value` (a dynamic one passes).
llvm::LogicalResult expectDivides(mlir::Operation *op, llvm::StringRef label,
                                  llvm::StringRef divisorName, int64_t divisor,
                                  llvm::StringRef valueName, int64_t value);

/// Fails with `label` unless there is a group and groups divide heads. Both are
/// sizes of tensors; dynamic ones pass.
llvm::LogicalResult expectGroups(mlir::Operation *op, llvm::StringRef label,
                                 int64_t groups, int64_t heads);

/// Multiplies a size by a positive factor; a dynamic one stays. Fails with
/// `label` when the product does not fit.
llvm::LogicalResult multiplySize(mlir::Operation *op, llvm::StringRef label,
                                 int64_t &size, int64_t factor);

/// The shape of a ranked tensor value.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// Fails unless D, when there, is `[h]` or `[h, p]`.
llvm::LogicalResult expectSkip(mlir::Operation *op, llvm::StringRef label,
                               mlir::Value skip, int64_t heads,
                               int64_t headDim);

/// Fails unless the limits of the step size are numbers in order.
llvm::LogicalResult expectStepLimits(mlir::Operation *op, llvm::StringRef label,
                                     const llvm::APFloat &least,
                                     const llvm::APFloat &most);

/// Fails unless axes are axes of the mesh, each once, and there is one.
llvm::LogicalResult verifyGroup(mlir::Operation *op, MeshAttr mesh,
                                mlir::ArrayAttr axes);

/// Fails unless the cuts of dimension `dim` divide the whole of it; a rank has
/// `part` elements. A dynamic part passes. Cuts that list sizes do not: each
/// rank has as many.
llvm::LogicalResult verifyDivides(mlir::Operation *op, MeshAttr mesh,
                                  mlir::ArrayAttr cuts, int64_t dim,
                                  int64_t part);

/// Fails unless several cuts are all contiguous: an exchange over a group knows
/// one order.
llvm::LogicalResult verifyOneOrder(mlir::Operation *op, MeshAttr mesh,
                                   mlir::ArrayAttr cuts);

/// The parts of a sequence that each rank has (partsPerRank); fails where they
/// are not a few.
llvm::FailureOr<int64_t> verifyParts(mlir::Operation *op, MeshAttr mesh,
                                     mlir::ArrayAttr cuts);

/// Fails with `label` unless the window of an attention is 0, or above 0 and
/// causal.
llvm::LogicalResult verifyWindow(mlir::Operation *op, llvm::StringRef label,
                                 bool causal, int64_t window);

} // namespace cp

#endif // CP_LIB_DIALECT_VERIFYUTILS_H
