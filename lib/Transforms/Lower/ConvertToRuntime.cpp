//===- ConvertToRuntime.cpp - Flat lists of runtime calls -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferArguments.h"
#include "RuntimeEmitter.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace cp {
#define GEN_PASS_DEF_CONVERTTORUNTIME
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {

Value bufferAt(OpBuilder &builder, Location loc, Value pointer,
               MemRefType type) {
  LLVMTypeConverter converter(builder.getContext());
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, type, pointer);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

namespace {

/// Lets an outlined kernel take its pointers from a table, the form in which
/// cprt_launch calls it.
void packArguments(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Block &body = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Location loc = kernel.getLoc();
  SmallVector<BlockArgument> args(body.getArguments());
  Value table = body.addArgument(pointer, loc);
  for (auto [index, arg] : llvm::enumerate(args)) {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, table,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    Value data = LLVM::LoadOp::create(builder, loc, pointer, slot);
    arg.replaceAllUsesWith(
        bufferAt(builder, loc, data, cast<MemRefType>(arg.getType())));
  }
  body.eraseArguments(0, args.size());
  kernel.setType(FunctionType::get(context, {pointer}, {}));
}

struct ConvertToRuntime : impl::ConvertToRuntimeBase<ConvertToRuntime> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries, kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        (function.isPublic() ? entries : kernels).push_back(function);
    for (func::FuncOp kernel : kernels) {
      if (!takesStaticBuffers(kernel)) {
        kernel.emitOpError(
            "must take buffers of known sizes and strides and "
            "give nothing, as an outlined kernel does; inline the function "
            "first");
        return signalPassFailure();
      }
      packArguments(kernel);
    }
    RuntimeEmitter emitter(getOperation());
    for (func::FuncOp entry : entries)
      if (failed(emitter.convert(entry)))
        return signalPassFailure();
  }

private:
  static bool takesStaticBuffers(func::FuncOp function) {
    return function.getNumResults() == 0 &&
           llvm::all_of(function.getArgumentTypes(), [](Type type) {
             auto memref = dyn_cast<MemRefType>(type);
             return memref && memref.hasStaticShape() && hasKnownPlaces(memref);
           });
  }

  static bool hasKnownPlaces(MemRefType type) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return succeeded(type.getStridesAndOffset(strides, offset)) &&
           !ShapedType::isDynamic(offset) &&
           llvm::none_of(strides, ShapedType::isDynamic);
  }
};

} // namespace
} // namespace cp
