//===- RuntimeEmitter.h - One entry function to LLVM ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H
#define CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Turns functions on buffers of known shapes into straight lists of runtime
/// calls. A buffer is a pointer that already holds its offset: sizes and
/// strides are in the descriptor tables, so the LLVM IR is linear in the number
/// of calls (memref descriptors make LLVM's time quadratic).
class RuntimeEmitter {
public:
  explicit RuntimeEmitter(mlir::ModuleOp module);

  /// Replaces `entry` by `void name(context, stream, buffers)`. Fails after an
  /// error on the op that is no call, allocation or view.
  llvm::LogicalResult convert(mlir::func::FuncOp entry);

private:
  llvm::LogicalResult emit(mlir::Operation *op);
  llvm::LogicalResult emitAlloc(mlir::memref::AllocOp op);
  llvm::LogicalResult emitCall(CallOp op);
  llvm::LogicalResult emitCopy(mlir::memref::CopyOp op);
  llvm::LogicalResult emitLaunch(mlir::func::CallOp op);
  llvm::LogicalResult emitGlobal(mlir::memref::GetGlobalOp op);
  llvm::LogicalResult emitView(mlir::Operation *op);
  llvm::LogicalResult emitArenaView(mlir::memref::ViewOp op);
  /// The pointer `bytes` further on.
  mlir::Value moved(mlir::Location loc, mlir::Value base, int64_t bytes);

  /// A call of the runtime's `symbol` on these buffers.
  llvm::LogicalResult emitRuntimeCall(mlir::Location loc,
                                      llvm::StringRef symbol,
                                      mlir::ValueRange ins,
                                      mlir::ValueRange outs,
                                      llvm::ArrayRef<int64_t> attributes);
  /// Stores the pointers of `buffers` in the table of this function.
  void fillTable(mlir::Location loc, mlir::ValueRange buffers);
  mlir::Value descriptor(mlir::Location loc, llvm::ArrayRef<int64_t> words);
  /// The global that holds these elements (of rank 1); equal tables are one.
  mlir::Value constantTable(mlir::Location loc, mlir::DenseElementsAttr value);
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);
  void call(mlir::Location loc, llvm::StringRef name,
            llvm::ArrayRef<mlir::Value> operands);
  /// The pointer of element (0, ..., 0) of a buffer.
  mlir::Value pointerOf(mlir::Value buffer) { return pointers.lookup(buffer); }

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  mlir::LLVM::LLVMPointerType pointer;
  mlir::Type i64;
  mlir::Value context, stream, table;
  /// The addresses of the table's entries.
  llvm::SmallVector<mlir::Value> slots;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions;
  /// By name, since a module finds a symbol by looking at every op.
  llvm::DenseMap<mlir::StringAttr, mlir::func::FuncOp> kernels;
  llvm::DenseMap<mlir::StringAttr, mlir::memref::GlobalOp> globals;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> tables;
  int64_t callCount = 0;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H
