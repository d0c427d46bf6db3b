//===- RuntimeEmitter.cpp - One entry function to LLVM ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeEmitter.h"

#include "BufferSize.h"

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cp {

/// CPRT_ABSENT
static constexpr int64_t absentType = -1;

/// The numbers of cprt_dtype; nothing for a type that the runtime has not.
static std::optional<int64_t> dtypeOf(Type type) {
  return llvm::TypeSwitch<Type, std::optional<int64_t>>(type)
      .Case([](Float32Type) { return 0; })
      .Case([](Float64Type) { return 1; })
      .Case([](BFloat16Type) { return 2; })
      .Case([](IntegerType i) -> std::optional<int64_t> {
        if (i.getWidth() == 32)
          return 3;
        if (i.getWidth() == 64)
          return 4;
        return std::nullopt;
      })
      .Default([](Type) { return std::nullopt; });
}

/// Appends dtype, rank, sizes and strides; fails for what has none.
LogicalResult RuntimeEmitter::appendBuffer(Value buffer,
                                           SmallVectorImpl<int64_t> &words) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  std::optional<int64_t> dtype =
      type ? dtypeOf(type.getElementType()) : std::nullopt;
  if (!dtype || !type.hasStaticShape() || !stridesOf(type).known())
    return emitError(buffer.getLoc(), "a buffer of type ")
           << buffer.getType()
           << " cannot reach the runtime, which needs known sizes and "
              "strides, and elements of f32, f64, bf16, i32 or i64";
  words.append({*dtype, type.getRank()});
  llvm::append_range(words, type.getShape());
  llvm::append_range(words, stridesOf(type).strides);
  return success();
}

const RuntimeEmitter::Strides &RuntimeEmitter::stridesOf(MemRefType type) {
  auto [found, isNew] = strides.try_emplace(type);
  Strides &entry = found->second;
  if (!isNew)
    return entry;
  // Of what is empty upstream knows no strides.
  if (type.getLayout().isIdentity() && type.hasStaticShape())
    entry.strides = computeSuffixProduct(type.getShape());
  else if (failed(type.getStridesAndOffset(entry.strides, entry.offset)))
    entry = {{ShapedType::kDynamic}, ShapedType::kDynamic};
  return entry;
}

/// `bytes` further on; as pointers do, modulo 2^64.
static BufferPlace moved(BufferPlace from, uint64_t bytes) {
  return {from.base, static_cast<int64_t>(from.bytes + bytes)};
}

RuntimeEmitter::RuntimeEmitter(ModuleOp module)
    : module(module), builder(module.getContext()),
      pointer(LLVM::LLVMPointerType::get(module.getContext())),
      i64(IntegerType::get(module.getContext(), 64)) {
  for (Operation &op : *module.getBody()) {
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      globals[global.getSymNameAttr()] = global;
    auto function = dyn_cast<func::FuncOp>(op);
    if (function && function.isPrivate() && !function.isExternal())
      kernels[function.getSymNameAttr()] = function;
  }
}

LogicalResult RuntimeEmitter::convert(func::FuncOp entry) {
  Location loc = entry.getLoc();
  builder.setInsertionPoint(entry);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {pointer, pointer, pointer});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, "cp_converting", type);
  // Who runs the program may ask what a rank will take.
  if (Attribute bytes = entry->getAttr(arenaAttr))
    function->setAttr(arenaAttr, bytes);
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  context = body->getArgument(0);
  stream = body->getArgument(1);
  arguments = body->getArgument(2);
  LLVM::ConstantOp size = makeFrame(entry);
  for (Operation &op : entry.getBody().front())
    if (failed(emit(&op)))
      return failure();
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  size.setValueAttr(builder.getI64IntegerAttr(frameSize));
  builder.setInsertionPoint(function);
  if (isForDevice())
    defineOperations(loc);
  records.define(builder, loc, entryCount++);
  StringAttr name = entry.getNameAttr();
  entry.erase();
  function.setSymNameAttr(name);
  return success();
}

LLVM::ConstantOp RuntimeEmitter::makeFrame(func::FuncOp entry) {
  Location loc = entry.getLoc();
  if (!next) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    next = defineNextRecord(builder, module.getLoc());
  }
  records = CallRecords();
  addresses.clear();
  places.clear();
  for (BlockArgument arg : entry.getArguments())
    places[arg] = {arg.getArgNumber(), 0};
  frameSize = FirstPlace;
  // One table serves every call: the runtime reads it before it returns.
  int64_t most = 1;
  entry.walk([&](Operation *op) {
    auto callOp = dyn_cast<CallOp>(op);
    int64_t absent =
        callOp && callOp.getAbsent() ? callOp.getAbsent()->size() : 0;
    most = std::max<int64_t>(most, op->getNumOperands() + absent);
  });
  auto size = LLVM::ConstantOp::create(builder, loc, i64, frameSize);
  frame = LLVM::AllocaOp::create(builder, loc, pointer, pointer, size);
  table =
      LLVM::AllocaOp::create(builder, loc, pointer, pointer,
                             LLVM::ConstantOp::create(builder, loc, i64, most));
  Value first = CallRecords::addressOf(builder, loc, entryCount);
  LLVM::StoreOp::create(builder, loc, first, slot(loc, frame, NextRecord));
  LLVM::StoreOp::create(builder, loc, arguments, slot(loc, frame, Arguments));
  LLVM::StoreOp::create(builder, loc, table, slot(loc, frame, Table));
  operations.clear();
  if (isForDevice())
    call(loc, "cprt_require",
         {context,
          LLVM::AddressOfOp::create(builder, loc, pointer, operationsName())});
  return size;
}

/// The type that a call is made for, as the runtime tells it: of its first
/// floating-point buffer, or its first.
static int64_t keyTypeOf(ArrayRef<Value> buffers) {
  int64_t key = absentType;
  for (Value buffer : buffers) {
    auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
    if (!type)
      continue;
    if (key == absentType)
      key = dtypeOf(type.getElementType()).value_or(absentType);
    if (isa<FloatType>(type.getElementType()))
      return dtypeOf(type.getElementType()).value_or(absentType);
  }
  return key;
}

void RuntimeEmitter::keep(Value buffer, Value start) {
  int32_t number = frameSize++;
  Location loc = buffer.getLoc();
  LLVM::StoreOp::create(builder, loc, start, slot(loc, frame, number));
  places[buffer] = {-number, 0};
}

LogicalResult RuntimeEmitter::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::AllocOp alloc) { return emitAlloc(alloc); })
      .Case([&](memref::DeallocOp dealloc) {
        call(op->getLoc(), "cprt_free",
             {context, pointerOf(op->getLoc(), dealloc.getMemref())});
        return success();
      })
      .Case([&](CallOp callOp) { return emitCall(callOp); })
      .Case([&](WaitOp wait) {
        return emitRuntimeCall(wait.getLoc(), "wait", {}, wait.getOuts(), {});
      })
      .Case([&](memref::CopyOp copy) { return emitCopy(copy); })
      .Case([&](func::CallOp launch) { return emitLaunch(launch); })
      .Case([&](memref::GetGlobalOp global) { return emitGlobal(global); })
      .Case([&](func::ReturnOp end) -> LogicalResult {
        if (end.getNumOperands() == 0)
          return success();
        return end.emitOpError("gives a value, but a rank's program writes to "
                               "buffers; run cp-prepare-entry first");
      })
      .Case([&](arith::ConstantOp) { return success(); })
      .Default([&](Operation *) { return emitView(op); });
}

LogicalResult RuntimeEmitter::emitAlloc(memref::AllocOp op) {
  std::optional<int64_t> size = bytesOf(op.getType());
  if (!size)
    return op.emitOpError("has a size that is not known when the program is "
                          "compiled, or that no memory has");
  Location loc = op.getLoc();
  // What cp-plan-memory left is the arena, which outlives the step.
  bool planned = op->getParentOp()->hasAttr(arenaAttr);
  LLVM::LLVMFuncOp alloc =
      declare(planned ? "cprt_arena" : "cprt_alloc", pointer, {pointer, i64});
  Value bytes = LLVM::ConstantOp::create(builder, loc, i64, *size);
  keep(op, LLVM::CallOp::create(builder, loc, alloc, ValueRange{context, bytes})
               .getResult());
  return success();
}

LogicalResult RuntimeEmitter::emitCall(CallOp op) {
  for (StringRef service : {"alloc", "arena", "free", "launch", "launch_kernel",
                            "require", "constant", "begin", "wait"})
    if (op.getSymbol() == service || op.getCallback() == service)
      return op.emitOpError("names '")
             << service
             << "', which is a service of the runtime and no operation on "
                "buffers";
  SmallVector<int64_t> words;
  appendWords(op.getConfig().getEntries(), words);
  SmallVector<Value> ins(op.getIns());
  for (int64_t place : op.getAbsent().value_or(ArrayRef<int64_t>()))
    ins.insert(ins.begin() + place, Value());
  if (op.getDeferred())
    return emitRuntimeCall(op.getLoc(), "begin", ins, op.getOuts(), words,
                           op.getSymbol());
  std::optional<StringRef> callback = op.getCallback();
  return emitRuntimeCall(op.getLoc(),
                         (op.getSymbol() + (callback ? "_with" : "")).str(),
                         ins, op.getOuts(), words, callback.value_or(""));
}

LogicalResult RuntimeEmitter::emitCopy(memref::CopyOp op) {
  // A new value of an argument, made where the old one was.
  if (op.getSource() == op.getTarget())
    return success();
  return emitRuntimeCall(op.getLoc(), "copy", {op.getSource()}, op.getTarget(),
                         {});
}

LogicalResult RuntimeEmitter::emitLaunch(func::CallOp op) {
  // Kernels that cp-outline-kernels made write into their arguments.
  if (op.getNumResults() != 0 ||
      !kernels.contains(op.getCalleeAttr().getAttr()))
    return op.emitOpError("cannot be part of a rank's program; inline the "
                          "function first");
  Location loc = op.getLoc();
  nextCall(loc, SmallVector<Value>(op.getOperands()), {});
  StringAttr name = op.getCalleeAttr().getAttr();
  func::FuncOp kernel = kernels.lookup(name);
  auto threads = kernel->getAttrOfType<IntegerAttr>(deviceThreadsAttr);
  Value &address = addresses[name];
  if (!address && threads)
    address = LLVM::AddressOfOp::create(
        builder, loc, pointer,
        kernelRecord(kernel, threads.getInt(), op.getNumOperands())
            .getSymNameAttr());
  else if (!address)
    address = addressOf(loc, kernel);
  call(loc, threads ? "cprt_launch_kernel" : "cprt_launch",
       {context, stream, address, table});
  return success();
}

/// A constant tensor. Bufferization copies it before anyone may write to it.
LogicalResult RuntimeEmitter::emitGlobal(memref::GetGlobalOp op) {
  memref::GlobalOp global = globals.lookup(op.getNameAttr().getAttr());
  auto value = dyn_cast_if_present<DenseElementsAttr>(
      global ? global.getConstantInitValue() : Attribute());
  if (!value)
    return op.emitOpError("reads a global that is no dense constant");
  int64_t size = value.getNumElements();
  Location loc = op.getLoc();
  Value here = constantTable(loc, value.reshape(RankedTensorType::get(
                                      {size}, value.getElementType())));
  if (!isForDevice()) {
    keep(op, here);
    return success();
  }
  LLVM::LLVMFuncOp constant =
      declare("cprt_constant", pointer, {pointer, pointer, i64});
  Value bytes = LLVM::ConstantOp::create(builder, loc, i64,
                                         bytesOf(op.getType()).value_or(0));
  keep(op, LLVM::CallOp::create(builder, loc, constant,
                                ValueRange{context, here, bytes})
               .getResult());
  return success();
}

/// Views of a buffer are the same pointer, moved by a constant.
LogicalResult RuntimeEmitter::emitView(Operation *op) {
  if (!isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
           memref::CastOp, memref::ReinterpretCastOp, memref::ViewOp,
           UnrealizedConversionCastOp>(op) ||
      op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !isa<MemRefType>(op->getOperand(0).getType()) ||
      !isa<MemRefType>(op->getResult(0).getType()))
    return op->emitOpError("cannot be part of a rank's program; what is left "
                           "there must be calls, allocations and views");
  if (auto view = dyn_cast<memref::ViewOp>(op))
    return emitArenaView(view);
  auto from = cast<MemRefType>(op->getOperand(0).getType());
  auto to = cast<MemRefType>(op->getResult(0).getType());
  int64_t before = stridesOf(from).offset, after = stridesOf(to).offset;
  if (ShapedType::isDynamic(before) || ShapedType::isDynamic(after))
    return op->emitOpError("views a buffer at an offset that is not known");
  // The cast of a kernel's argument only drops the offset from the type.
  int64_t elements = isa<UnrealizedConversionCastOp>(op) ? 0 : after - before;
  places[op->getResult(0)] =
      moved(places.lookup(op->getOperand(0)),
            elements * llvm::divideCeil(to.getElementTypeBitWidth(), 8));
  return success();
}

LogicalResult RuntimeEmitter::emitArenaView(memref::ViewOp op) {
  std::optional<int64_t> offset = getConstantIntValue(op.getByteShift());
  if (!offset || !op.getType().hasStaticShape())
    return op.emitOpError("views a buffer at an offset that is not known");
  places[op] = moved(places.lookup(op.getSource()), *offset);
  return success();
}

LogicalResult RuntimeEmitter::emitRuntimeCall(Location loc, StringRef symbol,
                                              ArrayRef<Value> ins,
                                              ValueRange outs,
                                              ArrayRef<int64_t> attributes,
                                              StringRef callback) {
  SmallVector<int64_t> words = {
      static_cast<int64_t>(ins.size()), static_cast<int64_t>(outs.size()),
      static_cast<int64_t>(attributes.size()), callCount++};
  SmallVector<Value> buffers(ins);
  llvm::append_range(buffers, outs);
  for (Value buffer : buffers) {
    // Left out: no type and no dimension.
    if (!buffer)
      words.append({absentType, 0});
    else if (failed(appendBuffer(buffer, words)))
      return failure();
  }
  llvm::append_range(words, attributes);
  if (symbol != "wait")
    operations.insert(
        {(symbol == "begin" ? callback : symbol).str(), keyTypeOf(buffers)});
  Value desc = nextCall(loc, buffers, words);
  SmallVector<Value> operands = {context, stream, desc, table};
  if (!callback.empty())
    operands.push_back(operation(loc, callback));
  call(loc, ("cprt_" + symbol).str(), operands);
  return success();
}

Value RuntimeEmitter::operation(Location loc, StringRef symbol) {
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  SmallVector<Type> arguments(4, pointer);
  LLVM::LLVMFuncOp function =
      declare(("cprt_" + symbol).str(), none, arguments);
  return LLVM::AddressOfOp::create(builder, loc, function);
}

Value RuntimeEmitter::nextCall(Location loc, ArrayRef<Value> buffers,
                               ArrayRef<int64_t> descriptor) {
  SmallVector<BufferPlace> found;
  // What is left out has a pointer that is there and that nobody reads.
  for (Value buffer : buffers)
    found.push_back(buffer ? places.lookup(buffer) : BufferPlace{-Table, 0});
  records.append(found, descriptor);
  return LLVM::CallOp::create(builder, loc, next, frame).getResult();
}

Value RuntimeEmitter::slot(Location loc, Value base, int32_t index) {
  return LLVM::GEPOp::create(builder, loc, pointer, pointer, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value RuntimeEmitter::pointerOf(Location loc, Value buffer) {
  BufferPlace place = places.lookup(buffer);
  Value home = place.base < 0
                   ? slot(loc, frame, static_cast<int32_t>(-place.base))
                   : slot(loc, arguments, static_cast<int32_t>(place.base));
  Value start = LLVM::LoadOp::create(builder, loc, pointer, home);
  if (place.bytes == 0)
    return start;
  Value bytes = LLVM::ConstantOp::create(builder, loc, i64, place.bytes);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), start,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

LLVM::GlobalOp RuntimeEmitter::constantGlobal(Location loc,
                                              DenseElementsAttr value) {
  constexpr int64_t cacheLine = 64;
  LLVM::GlobalOp &global = tables[value];
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        builder, loc,
        LLVM::LLVMArrayType::get(value.getElementType(),
                                 value.getNumElements()),
        /*isConstant=*/true, LLVM::Linkage::Internal,
        "cp_constant_" + std::to_string(tables.size()), value, cacheLine);
  }
  return global;
}

Value RuntimeEmitter::constantTable(Location loc, DenseElementsAttr value) {
  return LLVM::AddressOfOp::create(builder, loc, pointer,
                                   constantGlobal(loc, value).getSymNameAttr());
}

LLVM::LLVMFuncOp RuntimeEmitter::declare(StringRef name, Type result,
                                         ArrayRef<Type> arguments) {
  LLVM::LLVMFuncOp &function = functions[name];
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    function = LLVM::LLVMFuncOp::create(
        builder, module.getLoc(), name,
        LLVM::LLVMFunctionType::get(result, arguments));
  }
  return function;
}

void RuntimeEmitter::call(Location loc, StringRef name,
                          ArrayRef<Value> operands) {
  SmallVector<Type> types;
  for (Value operand : operands)
    types.push_back(operand.getType());
  LLVM::LLVMFuncOp function =
      declare(name, LLVM::LLVMVoidType::get(builder.getContext()), types);
  LLVM::CallOp::create(builder, loc, function, operands);
}

} // namespace cp
