//===- CPCall.cpp - A call into the runtime ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cp {

bool CallOp::accumulates() {
  auto flag = dyn_cast_if_present<BoolAttr>(getConfig().find("accumulate"));
  return flag && flag.getValue();
}

/// Whether an integer or bool fits in a word of the runtime's tables.
static bool isWord(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && (number.getType().isIndex() ||
                    (number.getType().isSignlessInteger() &&
                     number.getType().getIntOrFloatBitWidth() <= 64));
}

LogicalResult CallOp::verify() {
  auto tensor = llvm::IsaPred<RankedTensorType>;
  auto memref = llvm::IsaPred<MemRefType>;
  bool tensors = llvm::all_of(getOuts().getTypes(), tensor);
  bool memrefs = llvm::all_of(getOuts().getTypes(), memref);
  if (getOuts().empty() || (!tensors && !memrefs))
    return emitOpError(
        "call_c1: there must be outs, all tensors or all memrefs");
  for (Type type : getIns().getTypes())
    if (tensors ? !tensor(type) : !memref(type))
      return emitOpError(
                 "call_c1: ins must be tensors or memrefs, as outs are, "
                 "but ")
             << type << " was found";
  if (tensors ? getResultTypes() != getOuts().getTypes() : getNumResults() != 0)
    return emitOpError("call_c2: there must be ")
           << (tensors ? "one result of the type of each out" : "no results");
  for (NamedAttribute attribute : getConfig().getEntries())
    if (!isWord(attribute.getValue()) &&
        !isa<FloatAttr, DenseI64ArrayAttr>(attribute.getValue()))
      return emitOpError("call_c3: attribute ")
             << attribute.getName()
             << " must be a bool, a signless integer of at most 64 bits, a "
                "float or an array of i64, but is "
             << attribute.getValue();
  int64_t before = -1;
  auto numIns = static_cast<int64_t>(getIns().size());
  for (int64_t place : getAbsent().value_or(ArrayRef<int64_t>())) {
    int64_t end = numIns + static_cast<int64_t>(getAbsent()->size());
    if (place <= before || place >= end)
      return emitOpError("call_c5: places of inputs that are left out must be "
                         "from 0 to ")
             << end - 1 << ", each once and in their order, but are "
             << getAbsentAttr();
    before = place;
  }
  if (getSymbol().ends_with("_with"))
    return emitOpError("call_c4: the symbol must not end in \"_with\", but is ")
           << getSymbolAttr()
           << "; leave that off, and name the function by `with`";
  if (std::optional<StringRef> callback = getCallback();
      callback && (callback->empty() || callback->ends_with("_with")))
    return emitOpError("call_c4: the function's symbol must be an operation's, "
                       "not empty and without \"_with\" at its end, but is ")
           << getCallbackAttr();
  if (getDeferred() && (tensors || getCallback()))
    return emitOpError("call_c6: what is deferred must be a call on memrefs, "
                       "without a function");
  return success();
}

LogicalResult WaitOp::verify() {
  if (getOuts().empty())
    return emitOpError("wait_c1: there must be outs, those of a deferred call");
  return success();
}

/// Nothing that touches the buffers moves to the other side of it.
void WaitOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getInsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &operand,
                         SideEffects::DefaultResource::get());
  for (OpOperand &operand : getOutsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Read::get(),
                       CommunicationResource::get());
  for (OpOperand &operand : getInsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : getOutsMutable()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (accumulates())
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
  }
}

//===----------------------------------------------------------------------===//
// Its text
//===----------------------------------------------------------------------===//

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<NamedAttribute> entries) {
  llvm::SmallDenseSet<StringAttr> names;
  for (NamedAttribute entry : entries)
    if (!names.insert(entry.getName()).second)
      return emitError() << "config_c1: attribute " << entry.getName()
                         << " is given twice; name each once";
  return success();
}

Attribute ConfigAttr::find(StringRef name) const {
  for (NamedAttribute entry : getEntries())
    if (entry.getName() == name)
      return entry.getValue();
  return {};
}

Attribute ConfigAttr::parse(AsmParser &parser, Type) {
  ConfigAttr config;
  if (parser.parseLess() || parseConfig(parser, config) ||
      parser.parseGreater())
    return {};
  return config;
}

void ConfigAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printConfig(printer, nullptr, *this);
  printer << ">";
}

ParseResult parseConfig(AsmParser &parser, ConfigAttr &config) {
  SmallVector<NamedAttribute> entries;
  SMLoc loc = parser.getCurrentLocation();
  auto parseEntry = [&]() -> ParseResult {
    std::string name;
    Attribute value;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseAttribute(value))
      return failure();
    if (name.empty())
      return parser.emitError(loc, "an attribute of a call has no name; name "
                                   "each");
    entries.emplace_back(parser.getBuilder().getStringAttr(name), value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  config = ConfigAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(),
                                  ArrayRef<NamedAttribute>(entries));
  return success(config != nullptr);
}

void printConfig(AsmPrinter &printer, Operation *, ConfigAttr config) {
  printer << "{";
  llvm::interleaveComma(config.getEntries(), printer,
                        [&](NamedAttribute entry) {
                          printer.printKeywordOrString(entry.getName());
                          printer << " = ";
                          printer.printAttribute(entry.getValue());
                        });
  printer << "}";
}

ParseResult parseInputs(OpAsmParser &parser,
                        SmallVectorImpl<OpAsmParser::UnresolvedOperand> &ins,
                        SmallVectorImpl<Type> &types,
                        DenseI64ArrayAttr &absent) {
  if (failed(parser.parseOptionalKeyword("ins")))
    return success();
  SmallVector<int64_t> places;
  int64_t next = 0;
  auto parseInput = [&]() -> ParseResult {
    int64_t place = next++;
    if (succeeded(parser.parseOptionalKeyword("none"))) {
      places.push_back(place);
      return success();
    }
    return parser.parseOperand(ins.emplace_back());
  };
  if (parser.parseLParen() || parser.parseCommaSeparatedList(parseInput) ||
      (!ins.empty() && parser.parseColonTypeList(types)) ||
      parser.parseRParen())
    return failure();
  if (!places.empty())
    absent = parser.getBuilder().getDenseI64ArrayAttr(places);
  return success();
}

void printInputs(OpAsmPrinter &printer, Operation *, OperandRange ins,
                 TypeRange types, DenseI64ArrayAttr absent) {
  if (ins.empty() && (!absent || absent.empty()))
    return;
  printer << " ins(";
  ArrayRef<int64_t> places = absent ? absent.asArrayRef() : ArrayRef<int64_t>();
  size_t count = ins.size() + places.size();
  for (size_t place = 0; place < count; ++place) {
    if (place)
      printer << ", ";
    // Places that do not fit are printed too, since what is wrong is shown.
    bool isLeftOut =
        !places.empty() && places.front() == static_cast<int64_t>(place);
    if (isLeftOut || ins.empty()) {
      printer << "none";
      places = places.drop_front(isLeftOut);
    } else {
      printer << ins.front();
      ins = ins.drop_front();
    }
  }
  if (!types.empty())
    printer << " : " << types;
  printer << ")";
}

} // namespace cp
