//===- DenseConstants.cpp - Constants by their elements -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DenseConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace cp {

/// Null where it is that already, or not known.
static DenseElementsAttr denseOf(Attribute value) {
  if (auto named = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = named.getRawHandle().getBlob();
    bool isSplat = false;
    if (!blob || !DenseElementsAttr::isValidRawBuffer(named.getType(),
                                                      blob->getData(), isSplat))
      return {};
    // One element is not all of them here.
    if (isSplat && named.getNumElements() != 1)
      return {};
    return DenseElementsAttr::getFromRawBuffer(named.getType(),
                                               blob->getData());
  }
  if (auto sparse = dyn_cast<SparseElementsAttr>(value))
    return DenseElementsAttr::get(
        sparse.getType(), llvm::to_vector(sparse.getValues<Attribute>()));
  return {};
}

bool makeDense(Operation *root) {
  bool any = false;
  root->walk([&](arith::ConstantOp op) {
    if (DenseElementsAttr dense = denseOf(op.getValue())) {
      op.setValueAttr(dense);
      any = true;
    }
  });
  return any;
}

} // namespace cp
