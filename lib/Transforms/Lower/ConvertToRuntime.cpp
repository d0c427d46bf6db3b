//===- ConvertToRuntime.cpp - Flat lists of runtime calls -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"
#include "NestedFunctions.h"
#include "RuntimeEmitter.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace cp {
#define GEN_PASS_DEF_CONVERTTORUNTIME
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {

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
    if (failed(expectFunctions(getOperation())))
      return signalPassFailure();
    SmallVector<func::FuncOp> entries, kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        (function.isPublic() ? entries : kernels).push_back(function);
    for (func::FuncOp kernel : kernels) {
      if (failed(expectKernel(kernel)))
        return signalPassFailure();
      packArguments(kernel);
    }
    RuntimeEmitter emitter(getOperation());
    for (func::FuncOp entry : entries)
      if (failed(emitter.convert(entry)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace cp
