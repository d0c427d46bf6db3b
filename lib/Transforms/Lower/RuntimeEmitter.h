//===- RuntimeEmitter.h - One entry function to LLVM ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H
#define CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H

#include "CallRecords.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace cp {

/// Turns functions on buffers of known shapes into straight lists of runtime
/// calls. Buffers, sizes and strides are in one constant table for a function
/// (see CallRecords), so the LLVM IR is two ops a call (memref descriptors make
/// LLVM's time quadratic).
class RuntimeEmitter {
public:
  explicit RuntimeEmitter(mlir::ModuleOp module);

  /// Replaces `entry` by `void name(context, stream, buffers)`. Fails after an
  /// error on the op that is no call, allocation or view.
  llvm::LogicalResult convert(mlir::func::FuncOp entry);

private:
  /// A memref type's strides and offset, ShapedType::kDynamic where unknown.
  struct Strides {
    llvm::SmallVector<int64_t> strides;
    int64_t offset = 0;

    bool known() const {
      return llvm::none_of(strides, mlir::ShapedType::isDynamic);
    }
  };

  llvm::LogicalResult emit(mlir::Operation *op);
  llvm::LogicalResult emitAlloc(mlir::memref::AllocOp op);
  llvm::LogicalResult emitCall(CallOp op);
  llvm::LogicalResult emitCopy(mlir::memref::CopyOp op);
  llvm::LogicalResult emitLaunch(mlir::func::CallOp op);
  llvm::LogicalResult emitGlobal(mlir::memref::GetGlobalOp op);
  llvm::LogicalResult emitView(mlir::Operation *op);
  llvm::LogicalResult emitArenaView(mlir::memref::ViewOp op);
  /// Makes frame and table, and returns the op that says how large the frame
  /// is: that is known at the end.
  mlir::LLVM::ConstantOp makeFrame(mlir::func::FuncOp entry);
  /// Whether the module has kernels for a device.
  bool isForDevice();
  /// The global that lists the operations of the function that is converted.
  std::string operationsName() const;
  void defineOperations(mlir::Location loc);
  /// Keeps in the frame where `buffer` begins.
  void keep(mlir::Value buffer, mlir::Value start);

  /// A call of the runtime's `symbol` on these buffers, of which null stands
  /// for an input that is left out; with the function `callback`, if one is
  /// named.
  llvm::LogicalResult emitRuntimeCall(mlir::Location loc,
                                      llvm::StringRef symbol,
                                      llvm::ArrayRef<mlir::Value> ins,
                                      mlir::ValueRange outs,
                                      llvm::ArrayRef<int64_t> attributes,
                                      llvm::StringRef callback = {});
  llvm::LogicalResult appendBuffer(mlir::Value buffer,
                                   llvm::SmallVectorImpl<int64_t> &words);
  /// Valid until the next call of it.
  const Strides &stridesOf(mlir::MemRefType type);
  /// Makes the next call's buffers and descriptor, and returns the latter.
  mlir::Value nextCall(mlir::Location loc, llvm::ArrayRef<mlir::Value> buffers,
                       llvm::ArrayRef<int64_t> descriptor);
  /// The global that holds these elements (of rank 1), and its address; equal
  /// tables are one.
  mlir::LLVM::GlobalOp constantGlobal(mlir::Location loc,
                                      mlir::DenseElementsAttr value);
  mlir::Value constantTable(mlir::Location loc, mlir::DenseElementsAttr value);
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);
  void call(mlir::Location loc, llvm::StringRef name,
            llvm::ArrayRef<mlir::Value> operands);
  mlir::Value addressOf(mlir::Location loc, mlir::func::FuncOp kernel);
  /// The cprt_kernel of a kernel that a device may run.
  mlir::LLVM::GlobalOp kernelRecord(mlir::func::FuncOp kernel, int64_t threads,
                                    int64_t buffers);
  /// The address of an operation `cprt_<symbol>`.
  mlir::Value operation(mlir::Location loc, llvm::StringRef symbol);
  mlir::Value slot(mlir::Location loc, mlir::Value base, int32_t index);
  /// The pointer of element (0, ..., 0) of a buffer.
  mlir::Value pointerOf(mlir::Location loc, mlir::Value buffer);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  mlir::LLVM::LLVMPointerType pointer;
  mlir::Type i64;
  mlir::Value context, stream, arguments, frame, table;
  /// Of the function that is converted.
  CallRecords records;
  int32_t frameSize = FirstPlace;
  std::set<std::pair<std::string, int64_t>> operations;
  llvm::DenseMap<mlir::Value, BufferPlace> places;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> addresses;
  /// They are the work of affine maps, and types are few.
  llvm::DenseMap<mlir::MemRefType, Strides> strides;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions;
  /// By name, since a module finds a symbol by looking at every op.
  llvm::DenseMap<mlir::StringAttr, mlir::func::FuncOp> kernels;
  llvm::DenseMap<mlir::StringAttr, mlir::memref::GlobalOp> globals;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> tables;
  llvm::DenseMap<mlir::StringAttr, mlir::LLVM::GlobalOp> kernelRecords;
  mlir::LLVM::GlobalOp deviceCode;
  mlir::LLVM::LLVMFuncOp next;
  int64_t callCount = 0, entryCount = 0;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_RUNTIMEEMITTER_H
