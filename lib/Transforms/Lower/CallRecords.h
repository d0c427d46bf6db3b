//===- CallRecords.h - The constants of a function's calls ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_CALLRECORDS_H
#define CP_LIB_TRANSFORMS_CALLRECORDS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Where a buffer of an entry function begins: `bytes` behind a pointer that is
/// known only when the function runs.
struct BufferPlace {
  /// An argument's number, or minus the frame's slot that has the pointer.
  int64_t base = 0;
  int64_t bytes = 0;
};

/// A frame is an array of pointers: these, then those of allocations and
/// constants.
enum FrameSlot : int32_t {
  /// The record of the next call.
  NextRecord,
  /// The pointers of the function's arguments.
  Arguments,
  /// The buffers of the call that is about to be made.
  Table,
  FirstPlace
};

/// What the calls of one entry function differ in, as one constant: a record
/// for each call, in the order of the calls. A record is the number of buffers,
/// the number of words of the descriptor, base and bytes of each buffer, and
/// the descriptor. So a call costs two ops, whatever its buffers and shapes:
/// one that takes the next record, and the call.
class CallRecords {
public:
  void append(llvm::ArrayRef<BufferPlace> buffers,
              llvm::ArrayRef<int64_t> descriptor);

  /// Makes the global that holds them, for entry function number `number` of
  /// its module; in any order with addressOf.
  void define(mlir::OpBuilder &builder, mlir::Location loc,
              int64_t number) const;
  static mlir::Value addressOf(mlir::OpBuilder &builder, mlir::Location loc,
                               int64_t number);

private:
  llvm::SmallVector<int64_t> words;
};

/// Defines `cp_next`, which takes a frame, writes the pointers of the next
/// record's buffers to the frame's table, and gives the record's descriptor.
mlir::LLVM::LLVMFuncOp defineNextRecord(mlir::OpBuilder &builder,
                                        mlir::Location loc);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_CALLRECORDS_H
