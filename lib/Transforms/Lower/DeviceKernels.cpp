//===- DeviceKernels.cpp - Outlined loops as kernels for a device ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace cp {
#define GEN_PASS_DEF_EMITDEVICEKERNELS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// What one thread does of a structured op: all parallel dimensions are one
/// index, and the others loops.
class ThreadBody {
public:
  ThreadBody(OpBuilder &builder, linalg::GenericOp op, ValueRange buffers)
      : builder(builder), op(op), buffers(buffers), loc(op.getLoc()),
        sizes(op.getStaticLoopRanges()), kinds(op.getIteratorTypesArray()),
        indices(sizes.size()) {}

  /// How many threads there are.
  int64_t count() const {
    int64_t threads = 1;
    for (auto [size, kind] : llvm::zip_equal(sizes, kinds))
      threads *= linalg::isParallelIterator(kind) ? size : 1;
    return threads;
  }

  void emit(Value thread) {
    Value within = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, thread, constant(count()));
    auto guard = scf::IfOp::create(builder, loc, within);
    builder.setInsertionPointToStart(guard.thenBlock());
    for (size_t dim = sizes.size(); dim-- > 0;) {
      if (!linalg::isParallelIterator(kinds[dim]))
        continue;
      Value size = constant(sizes[dim]);
      indices[dim] = arith::RemUIOp::create(builder, loc, thread, size);
      thread = arith::DivUIOp::create(builder, loc, thread, size);
    }
    for (auto [dim, kind] : llvm::enumerate(kinds)) {
      if (linalg::isParallelIterator(kind))
        continue;
      Value step = constant(1), end = constant(sizes[dim]);
      auto loop = scf::ForOp::create(builder, loc, constant(0), end, step);
      builder.setInsertionPointToStart(loop.getBody());
      indices[dim] = loop.getInductionVar();
    }
    emitElement();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  SmallVector<Value> placeOf(OpOperand &operand) {
    return *affine::expandAffineMap(
        builder, loc, op.getMatchingIndexingMap(&operand), indices);
  }

  void emitElement() {
    IRMapping mapping;
    Block *body = op.getBody();
    for (OpOperand &operand : op->getOpOperands()) {
      Value buffer = buffers[operand.getOperandNumber()];
      Value value = buffer;
      if (isa<MemRefType>(buffer.getType()))
        value = memref::LoadOp::create(builder, loc, buffer, placeOf(operand));
      mapping.map(body->getArgument(operand.getOperandNumber()), value);
    }
    for (Operation &each : body->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(each))
        mapping.map(index.getResult(), indices[index.getDim()]);
      else
        builder.clone(each, mapping);
    }
    for (auto [yielded, out] : llvm::zip_equal(
             body->getTerminator()->getOperands(), op.getDpsInitsMutable()))
      memref::StoreOp::create(builder, loc, mapping.lookupOrDefault(yielded),
                              buffers[out.getOperandNumber()], placeOf(out));
  }

  OpBuilder &builder;
  linalg::GenericOp op;
  ValueRange buffers;
  Location loc;
  SmallVector<int64_t> sizes;
  SmallVector<utils::IteratorType> kinds;
  SmallVector<Value> indices;
};

/// Makes the function of one thread of an outlined kernel, which takes a
/// pointer a buffer.
class DeviceKernel {
public:
  DeviceKernel(ModuleOp device, func::FuncOp kernel)
      : device(device), kernel(kernel), builder(device.getContext()) {}

  LogicalResult make() {
    if (failed(expectKernel(kernel)))
      return failure();
    auto ops = kernel.getOps<linalg::LinalgOp>();
    if (!llvm::hasSingleElement(ops))
      return kernel.emitOpError(
          "holds more than one structured op, or none; run "
          "cp-outline-kernels first");
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    linalg::LinalgOp op = *copy->getOps<linalg::LinalgOp>().begin();
    auto generic = dyn_cast<linalg::GenericOp>(*op);
    if (!generic) {
      IRRewriter rewriter(op);
      FailureOr<linalg::GenericOp> made =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(made))
        return kernel.emitOpError("has a loop that no device can run: ")
               << op->getName();
      generic = *made;
    }
    if (failed(sinkConstants(generic)))
      return failure();
    for (Value operand : generic->getOperands())
      if (!isa<BlockArgument>(operand) && !isScalarConstant(operand))
        return kernel.emitOpError(
            "holds more than one structured op and constants; run "
            "cp-outline-kernels first");
    emit(*copy, generic);
    return success();
  }

private:
  void emit(func::FuncOp copy, linalg::GenericOp op) {
    Location loc = kernel.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(device.getContext());
    builder.setInsertionPointToEnd(device.getBody());
    SmallVector<Type> types(kernel.getNumArguments(), pointer);
    auto function = func::FuncOp::create(builder, loc, kernel.getName(),
                                         builder.getFunctionType(types, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    for (auto [from, to] :
         llvm::zip_equal(copy.getArguments(), function.getArguments()))
      mapping.map(from,
                  bufferAt(builder, loc, to, cast<MemRefType>(from.getType())));
    SmallVector<Value> buffers;
    for (Operation &each : copy.getBody().front())
      if (isa<arith::ConstantOp>(each))
        builder.clone(each, mapping);
    for (Value operand : op->getOperands())
      buffers.push_back(mapping.lookup(operand));
    ThreadBody body(builder, op, buffers);
    Value thread = threadIndex(loc);
    kernel->setAttr(deviceThreadsAttr, builder.getI64IntegerAttr(body.count()));
    body.emit(thread);
    builder.setInsertionPointToEnd(&function.getBody().front());
    func::ReturnOp::create(builder, loc);
  }

  /// Blocks are one behind the other.
  Value threadIndex(Location loc) {
    Type i32 = builder.getI32Type(), index = builder.getIndexType();
    auto toIndex = [&](Value value) -> Value {
      return arith::IndexCastUIOp::create(builder, loc, index, value);
    };
    Value block = toIndex(NVVM::BlockIdXOp::create(builder, loc, i32));
    Value size = toIndex(NVVM::BlockDimXOp::create(builder, loc, i32));
    Value thread = toIndex(NVVM::ThreadIdXOp::create(builder, loc, i32));
    return arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, block, size), thread);
  }

  ModuleOp device;
  func::FuncOp kernel;
  OpBuilder builder;
};

struct EmitDeviceKernels : impl::EmitDeviceKernelsBase<EmitDeviceKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPrivate() && !function.isExternal())
        kernels.push_back(function);
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto device = ModuleOp::create(builder, module.getLoc(), deviceModuleName);
    for (func::FuncOp kernel : kernels)
      if (failed(DeviceKernel(device, kernel).make()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace cp
