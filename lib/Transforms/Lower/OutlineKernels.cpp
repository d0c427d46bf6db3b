//===- OutlineKernels.cpp - Loops become shared functions -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace cp {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// The type of a kernel's argument: the same strides from a pointer that
/// already holds the offset.
Type argumentType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  auto strided = memref ? dyn_cast<StridedLayoutAttr>(memref.getLayout())
                        : StridedLayoutAttr();
  if (!strided)
    return type;
  return MemRefType::get(
      memref.getShape(), memref.getElementType(),
      StridedLayoutAttr::get(type.getContext(), 0, strided.getStrides()));
}

/// Tells structured ops apart that need kernels of their own: by all but which
/// buffers they work on, and places in the file.
struct SameKernel : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *key) {
    auto *op = const_cast<Operation *>(key);
    llvm::hash_code hash =
        llvm::hash_combine(op->getName(), op->getDiscardableAttrDictionary(),
                           op->hashProperties());
    for (Value operand : op->getOperands()) {
      auto [type, value] = kindOf(operand);
      hash = llvm::hash_combine(hash, type, value);
    }
    return hash;
  }

  static bool isEqual(const Operation *first, const Operation *second) {
    if (first == second)
      return true;
    for (const Operation *op : {first, second})
      if (op == getEmptyKey() || op == getTombstoneKey())
        return false;
    auto *a = const_cast<Operation *>(first);
    auto *b = const_cast<Operation *>(second);
    return a->getName() == b->getName() &&
           a->getDiscardableAttrDictionary() ==
               b->getDiscardableAttrDictionary() &&
           a->getName().compareOpProperties(a->getPropertiesStorage(),
                                            b->getPropertiesStorage()) &&
           llvm::equal(llvm::map_range(a->getOperands(), kindOf),
                       llvm::map_range(b->getOperands(), kindOf)) &&
           llvm::all_of_zip(a->getRegions(), b->getRegions(),
                            [](Region &one, Region &other) {
                              return OperationEquivalence::isRegionEquivalentTo(
                                  &one, &other,
                                  OperationEquivalence::IgnoreLocations);
                            });
  }

private:
  static std::pair<Type, Attribute> kindOf(Value operand) {
    auto constant = operand.getDefiningOp<arith::ConstantOp>();
    return {argumentType(operand.getType()),
            constant ? constant.getValue() : Attribute()};
  }
};

/// Makes kernels, one per kind of op and operands.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module) {}

  LogicalResult outline(linalg::LinalgOp op) {
    if (failed(sinkConstants(op)))
      return failure();
    func::FuncOp kernel = kernels.lookup(op);
    if (!kernel)
      kernel = makeKernel(op);
    OpBuilder builder(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (isScalarConstant(operand))
        continue;
      if (!isa<MemRefType>(operand.getType()))
        return op->emitOpError("reads a scalar that is no constant, which no "
                               "kernel can take");
      operands.push_back(withoutOffset(builder, operand));
    }
    func::CallOp::create(builder, op.getLoc(), kernel, operands);
    op->erase();
    return success();
  }

private:
  func::FuncOp makeKernel(linalg::LinalgOp op) {
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types;
    for (Value operand : op->getOperands())
      if (!isScalarConstant(operand))
        types.push_back(argumentType(operand.getType()));
    auto kernel = func::FuncOp::create(builder, op.getLoc(), freeName(),
                                       builder.getFunctionType(types, {}));
    kernel.setPrivate();
    Block *body = kernel.addEntryBlock();
    builder.setInsertionPointToStart(body);
    // By number: an op may have one buffer twice, and another one that the
    // kernel serves too has two.
    SmallVector<Value> operands;
    unsigned next = 0;
    for (Value operand : op->getOperands()) {
      if (isScalarConstant(operand))
        operands.push_back(
            builder.clone(*operand.getDefiningOp())->getResult(0));
      else
        operands.push_back(body->getArgument(next++));
    }
    Operation *made = builder.clone(*op);
    made->setOperands(operands);
    // The original is about to go.
    kernels[made] = kernel;
    func::ReturnOp::create(builder, op.getLoc());
    return kernel;
  }

  /// A name that no function of the module has.
  std::string freeName() {
    std::string name;
    do
      name = "cp_kernel_" + std::to_string(count++);
    while (module.lookupSymbol(name));
    return name;
  }

  static Value withoutOffset(OpBuilder &builder, Value value) {
    auto type = cast<MemRefType>(argumentType(value.getType()));
    if (type == value.getType())
      return value;
    // convert-cp-to-runtime knows the offset of every buffer of main.
    return UnrealizedConversionCastOp::create(builder, value.getLoc(), type,
                                              value)
        .getResult(0);
  }

  ModuleOp module;
  llvm::DenseMap<Operation *, func::FuncOp, SameKernel> kernels;
  unsigned count = 0;
};

struct OutlineKernels : impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    Outliner outliner(getOperation());
    SmallVector<linalg::LinalgOp> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic())
        function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      if (failed(outliner.outline(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace cp
