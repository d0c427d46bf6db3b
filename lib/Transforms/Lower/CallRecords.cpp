//===- CallRecords.cpp - The constants of a function's calls ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallRecords.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace cp {

void CallRecords::append(ArrayRef<BufferPlace> buffers,
                         ArrayRef<int64_t> descriptor) {
  words.push_back(buffers.size());
  words.push_back(descriptor.size());
  for (const BufferPlace &place : buffers)
    words.append({place.base, place.bytes});
  llvm::append_range(words, descriptor);
}

static std::string nameOf(int64_t number) {
  return "cp_calls_" + std::to_string(number);
}

void CallRecords::define(OpBuilder &builder, Location loc,
                         int64_t number) const {
  constexpr int64_t cacheLine = 64;
  Type i64 = builder.getI64Type();
  auto size = static_cast<int64_t>(words.size());
  LLVM::GlobalOp::create(
      builder, loc, LLVM::LLVMArrayType::get(i64, size), /*isConstant=*/true,
      LLVM::Linkage::Internal, nameOf(number),
      DenseElementsAttr::get(RankedTensorType::get({size}, i64),
                             ArrayRef<int64_t>(words)),
      cacheLine);
}

Value CallRecords::addressOf(OpBuilder &builder, Location loc, int64_t number) {
  return LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      nameOf(number));
}

namespace {

/// Writes the body of cp_next.
class RecordTaker {
public:
  RecordTaker(OpBuilder &builder, LLVM::LLVMFuncOp function)
      : builder(builder), loc(function.getLoc()),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())),
        i64(builder.getI64Type()), pair(LLVM::LLVMStructType::getLiteral(
                                       builder.getContext(), {i64, i64})),
        entry(function.addEntryBlock(builder)),
        head(builder.createBlock(&function.getBody(), {}, {i64}, {loc})),
        body(builder.createBlock(&function.getBody())),
        done(builder.createBlock(&function.getBody())),
        frame(entry->getArgument(0)) {}

  void write() {
    builder.setInsertionPointToStart(entry);
    Value record = loadPointer(frame, NextRecord);
    arguments = loadPointer(frame, Arguments);
    table = loadPointer(frame, Table);
    zero = LLVM::ConstantOp::create(builder, loc, i64, 0);
    Value buffers = LLVM::LoadOp::create(builder, loc, i64, record);
    Value length =
        LLVM::LoadOp::create(builder, loc, i64, at(i64, record, {1}));
    Value places = at(i64, record, {2});
    LLVM::BrOp::create(builder, loc, zero, head);

    builder.setInsertionPointToStart(head);
    Value index = head->getArgument(0);
    Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt,
                                      index, buffers);
    LLVM::CondBrOp::create(builder, loc, more, body, done);
    builder.setInsertionPointToStart(body);
    writePointer(places, index);

    builder.setInsertionPointToStart(done);
    Value descriptor = at(pair, places, {buffers});
    Value next = at(pointer, frame, {NextRecord});
    LLVM::StoreOp::create(builder, loc, at(i64, descriptor, {length}), next);
    LLVM::ReturnOp::create(builder, loc, descriptor);
  }

private:
  /// One turn of the loop.
  void writePointer(Value places, Value index) {
    Value base =
        LLVM::LoadOp::create(builder, loc, i64, at(pair, places, {index, 0}));
    Value bytes =
        LLVM::LoadOp::create(builder, loc, i64, at(pair, places, {index, 1}));
    Value inFrame = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt,
                                         base, zero);
    Value slot = LLVM::SubOp::create(builder, loc, zero, base);
    Value from =
        LLVM::SelectOp::create(builder, loc, inFrame, frame, arguments);
    Value number = LLVM::SelectOp::create(builder, loc, inFrame, slot, base);
    Value start = LLVM::LoadOp::create(builder, loc, pointer,
                                       at(pointer, from, {number}));
    Value entryOfTable = at(pointer, table, {index});
    LLVM::StoreOp::create(builder, loc, at(builder.getI8Type(), start, {bytes}),
                          entryOfTable);
    Value one = LLVM::ConstantOp::create(builder, loc, i64, 1);
    Value next = LLVM::AddOp::create(builder, loc, index, one);
    LLVM::BrOp::create(builder, loc, next, head);
  }

  Value at(Type element, Value base, ArrayRef<LLVM::GEPArg> indices) {
    return LLVM::GEPOp::create(builder, loc, pointer, element, base, indices);
  }
  Value loadPointer(Value base, int32_t index) {
    return LLVM::LoadOp::create(builder, loc, pointer,
                                at(pointer, base, {index}));
  }

  OpBuilder &builder;
  Location loc;
  Type pointer, i64, pair;
  Block *entry, *head, *body, *done;
  Value frame, arguments, table, zero;
};

} // namespace

LLVM::LLVMFuncOp defineNextRecord(OpBuilder &builder, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, "cp_next", LLVM::LLVMFunctionType::get(pointer, {pointer}));
  // In each of thousands of calls it would be most of a program's code.
  function.setNoInline(true);
  RecordTaker(builder, function).write();
  return function;
}

} // namespace cp
