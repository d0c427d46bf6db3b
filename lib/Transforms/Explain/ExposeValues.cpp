//===- ExposeValues.cpp - Return what every op computes ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Layers.h"
#include "cp/Transforms/Passes.h"
#include "cp/Transforms/SourcePlace.h"

namespace cp {
#define GEN_PASS_DEF_EXPOSEVALUES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// A tensor to return, and what `cp.value` says of it.
struct Exposed {
  Value value;
  DictionaryAttr attributes;
};

DictionaryAttr describe(OpResult value, IntegerAttr number, Attribute repeated,
                        const Layers &layers) {
  Operation *op = value.getOwner();
  Builder b(op->getContext());
  NamedAttrList what;
  what.set("number", number);
  what.set("op", b.getStringAttr(op->getName().getStringRef()));
  what.set("result", b.getI64IntegerAttr(value.getResultNumber()));
  what.set("layer", b.getStringAttr(layers.of(op)));
  what.set("location", b.getStringAttr(sourcePlace(op->getLoc())));
  if (repeated)
    what.set("repeated", repeated);
  return b.getDictionaryAttr(
      b.getNamedAttr(valueAttr, what.getDictionary(op->getContext())));
}

bool isPartial(Value value) {
  LayoutAttr layout = LayoutAttr::of(value.getType());
  return layout && !layout.getPartial().empty();
}

/// Whether a program can return such a tensor: the runtime's element types.
bool isReturnable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  return element.isF32() || element.isF64() || element.isBF16() ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

struct ExposeValues : impl::ExposeValuesBase<ExposeValues> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return;
    SmallVector<Exposed> exposed = collect(function);
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [value, attributes] : exposed) {
      if (failed(function.insertResult(function.getNumResults(),
                                       value.getType(), attributes)))
        return signalPassFailure();
      terminator->insertOperands(terminator->getNumOperands(), value);
    }
  }

private:
  /// What is used, and can be compared; the ops lose their numbers.
  static SmallVector<Exposed> collect(func::FuncOp function) {
    SmallVector<Exposed> exposed;
    Layers layers(function);
    for (Operation &op : function.getBody().front()) {
      auto number = dyn_cast_or_null<IntegerAttr>(op.removeAttr(numberAttr));
      Attribute repeated = op.removeAttr(repeatedAttr);
      if (!number)
        continue;
      for (OpResult value : op.getResults())
        if (isReturnable(value.getType()) && !value.use_empty() &&
            !isPartial(value))
          exposed.push_back({value, describe(value, number, repeated, layers)});
    }
    return exposed;
  }
};

} // namespace
} // namespace cp
