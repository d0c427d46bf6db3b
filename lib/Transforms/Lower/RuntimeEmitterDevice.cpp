//===- RuntimeEmitterDevice.cpp - What an entry says for devices ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeEmitter.h"

#include "cp/Transforms/Passes.h"

using namespace mlir;

namespace cp {

/// A null-terminated text.
static DenseElementsAttr textOf(MLIRContext *context, StringRef text) {
  SmallVector<int8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  auto type = RankedTensorType::get({int64_t(bytes.size())},
                                    IntegerType::get(context, 8));
  return DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes));
}

bool RuntimeEmitter::isForDevice() {
  return module.lookupSymbol(deviceModuleName) != nullptr;
}

std::string RuntimeEmitter::operationsName() const {
  return "cp_operations_" + std::to_string(entryCount);
}

/// In the order of their names.
void RuntimeEmitter::defineOperations(Location loc) {
  std::string text;
  for (const auto &[symbol, dtype] : operations)
    text += symbol + " " + std::to_string(dtype) + "\n";
  DenseElementsAttr value = textOf(builder.getContext(), text);
  LLVM::GlobalOp::create(
      builder, loc,
      LLVM::LLVMArrayType::get(builder.getI8Type(), value.getNumElements()),
      /*isConstant=*/true, LLVM::Linkage::Internal, operationsName(), value);
}

Value RuntimeEmitter::addressOf(Location loc, func::FuncOp kernel) {
  auto type = FunctionType::get(builder.getContext(), {pointer}, TypeRange());
  Value function =
      func::ConstantOp::create(builder, loc, type, kernel.getSymName());
  return UnrealizedConversionCastOp::create(builder, loc, pointer, function)
      .getResult(0);
}

LLVM::GlobalOp RuntimeEmitter::kernelRecord(func::FuncOp kernel,
                                            int64_t threads, int64_t buffers) {
  LLVM::GlobalOp &record = kernelRecords[kernel.getNameAttr()];
  if (record)
    return record;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.getLoc();
  if (!deviceCode) {
    builder.setInsertionPointToStart(module.getBody());
    deviceCode = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/true, LLVM::Linkage::External, deviceCodeName,
        Attribute());
  }
  LLVM::GlobalOp name =
      constantGlobal(loc, textOf(builder.getContext(), kernel.getName()));
  builder.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {pointer, pointer, pointer, i64, i64});
  record = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
      ("cp_record_" + kernel.getName()).str(), Attribute());
  builder.createBlock(&record.getInitializerRegion());
  Value fields[] = {
      addressOf(loc, kernel),
      LLVM::AddressOfOp::create(builder, loc, pointer, deviceCode.getSymName()),
      LLVM::AddressOfOp::create(builder, loc, pointer, name.getSymName()),
      LLVM::ConstantOp::create(builder, loc, i64, buffers),
      LLVM::ConstantOp::create(builder, loc, i64, threads)};
  Value value = LLVM::UndefOp::create(builder, loc, type);
  for (auto [index, field] : llvm::enumerate(fields))
    value =
        LLVM::InsertValueOp::create(builder, loc, value, field, int64_t(index));
  LLVM::ReturnOp::create(builder, loc, value);
  return record;
}

} // namespace cp
