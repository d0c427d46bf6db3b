//===- SplitReads.cpp - Readers of one value in groups --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitReads.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace cp {

/// How many readers a value may have, and how many of them share one. Few
/// enough that a square is no matter.
static constexpr int64_t most = 64, perGroup = 32;

/// Whether a call reads it and writes elsewhere.
static bool isRead(OpOperand &use) {
  auto call = dyn_cast<CallOp>(use.getOwner());
  return call && use.getOperandNumber() < call.getIns().size();
}

static void splitReadsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !value.hasNUsesOrMore(most + 1) ||
      !llvm::all_of(value.getUses(), isRead))
    return;
  SmallVector<OpOperand *> reads(llvm::make_pointer_range(value.getUses()));
  // In the order of the program, which their list has from its end on.
  std::reverse(reads.begin(), reads.end());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto buffer = bufferization::ToBufferOp::create(
      builder, value.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()), value,
      /*read_only=*/true);
  Value shared;
  for (auto [i, read] : llvm::enumerate(reads)) {
    if (i % perGroup == 0)
      shared = bufferization::ToTensorOp::create(builder, value.getLoc(), type,
                                                 buffer, /*restrict=*/true,
                                                 /*writable=*/false);
    read->set(shared);
  }
}

void splitReads(FunctionOpInterface function) {
  SmallVector<Value> values(function.getArguments());
  for (Operation &op : function.getFunctionBody().front())
    llvm::append_range(values, op.getResults());
  for (Value value : values)
    splitReadsOf(value);
}

} // namespace cp
