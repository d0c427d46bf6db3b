//===- DenseConstants.cpp - Constants by their elements -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace cp {
#define GEN_PASS_DEF_DENSECONSTANTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

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

namespace {

struct DenseConstants : impl::DenseConstantsBase<DenseConstants> {
  void runOnOperation() override {
    bool any = false;
    getOperation()->walk([&](arith::ConstantOp op) {
      if (DenseElementsAttr dense = denseOf(op.getValue())) {
        op.setValueAttr(dense);
        any = true;
      }
    });
    if (!any)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace cp
