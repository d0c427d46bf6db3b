//===- KernelFunction.cpp - Functions of one structured op ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace cp {

bool isScalarConstant(Value value) {
  return value.getDefiningOp<arith::ConstantOp>() &&
         !isa<MemRefType>(value.getType());
}

LogicalResult sinkConstants(linalg::LinalgOp op) {
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  Region &region = op->getRegion(0);
  for (Value value : outside) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return op->emitOpError("reads a value from outside its body that is no "
                             "constant, which no kernel can take");
    OpBuilder builder(region);
    replaceAllUsesInRegionWith(value, builder.clone(*constant)->getResult(0),
                               region);
  }
  return success();
}

Value bufferAt(OpBuilder &builder, Location loc, Value pointer,
               MemRefType type) {
  LLVMTypeConverter converter(builder.getContext());
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, type, pointer);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

static bool hasKnownPlaces(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

LogicalResult expectKernel(func::FuncOp function) {
  auto isKnown = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return memref && memref.hasStaticShape() && hasKnownPlaces(memref);
  };
  if (function.getNumResults() == 0 &&
      llvm::all_of(function.getArgumentTypes(), isKnown))
    return success();
  return function.emitOpError(
      "must take buffers of known sizes and strides and give nothing, as an "
      "outlined kernel does; inline the function first");
}

} // namespace cp
