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

/// Rows in the program and as callers have them, of each length of padded
/// sequences; null for none.
Attribute paddedLengths(func::FuncOp function) {
  llvm::SmallSetVector<std::pair<int64_t, int64_t>, 1> lengths;
  for (BlockArgument arg : function.getArguments()) {
    auto attribute = [&](StringRef name) {
      return function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), name);
    };
    IntegerAttr length = attribute(lengthAttr), dim = attribute(sequenceAttr);
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (length && dim && type && dim.getInt() >= 0 &&
        dim.getInt() < type.getRank())
      lengths.insert({type.getDimSize(dim.getInt()), length.getInt()});
  }
  SmallVector<int64_t> words;
  for (auto [padded, length] : lengths)
    words.append({padded, length});
  return words.empty()
             ? Attribute()
             : Builder(function.getContext()).getDenseI64ArrayAttr(words);
}

DictionaryAttr describe(OpResult value, IntegerAttr number, Attribute repeated,
                        Attribute padded, const Layers &layers) {
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
  if (padded)
    what.set("padded", padded);
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

/// A value in the order of its rows: where documents are no caller knows.
Value inRowOrder(OpBuilder &builder, Value value) {
  LayoutAttr layout = LayoutAttr::of(value.getType());
  if (!layout || !isPerDocument(layout.toLayout()))
    return value;
  Layout rows = inRowOrder(layout.toLayout());
  auto type =
      cast<RankedTensorType>(value.getType())
          .cloneWithEncoding(LayoutAttr::get(builder.getContext(), rows));
  return ReshardOp::create(builder, value.getLoc(), type, value, LayoutAttr(),
                           LayoutAttr());
}

struct ExposeValues : impl::ExposeValuesBase<ExposeValues> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return;
    SmallVector<Exposed> exposed = collect(function);
    Operation *terminator = function.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    for (auto [whole, attributes] : exposed) {
      Value value = inRowOrder(builder, whole);
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
    Attribute padded = paddedLengths(function);
    for (Operation &op : function.getBody().front()) {
      auto number = dyn_cast_or_null<IntegerAttr>(op.removeAttr(numberAttr));
      Attribute repeated = op.removeAttr(repeatedAttr);
      if (!number)
        continue;
      for (OpResult value : op.getResults())
        if (isReturnable(value.getType()) && !value.use_empty() &&
            !isPartial(value))
          exposed.push_back(
              {value, describe(value, number, repeated, padded, layers)});
    }
    return exposed;
  }
};

} // namespace
} // namespace cp
