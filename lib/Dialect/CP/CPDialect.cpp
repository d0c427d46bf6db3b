//===- CPDialect.cpp - Registration, bytecode version -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "cp/IR/CPDialect.cpp.inc"
#include "cp/IR/CPEnums.cpp.inc"
#include "cp/IR/CPInterfaces.cpp.inc"
namespace cp {
namespace {

/// What a bytecode file says of the dialect. Raised when the meaning of an op
/// or attribute changes.
constexpr uint64_t bytecodeVersion = 1;

/// All ops may be moved to where their function is called.
struct InlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

struct Version : DialectVersion {
  explicit Version(uint64_t number) : number(number) {}
  uint64_t number;
};

/// Attributes travel in their textual form; only the version is ours.
struct BytecodeInterface : BytecodeDialectInterface {
  explicit BytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(bytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > bytecodeVersion) {
      reader.emitError() << "this file holds version " << number
                         << " of the cp dialect, this build reads up to "
                         << bytecodeVersion
                         << "; use a newer build, or write the file as text";
      return nullptr;
    }
    return std::make_unique<Version>(number);
  }
};

/// Meshes and layouts print as `#mesh`, `#layout`.
struct AliasInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (isa<MeshAttr>(attribute)) {
      os << "mesh";
      return AliasResult::FinalAlias;
    }
    if (isa<LayoutAttr>(attribute)) {
      os << "layout";
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }
};

LogicalResult expectForm(Operation *op, NamedAttribute attribute, bool ok,
                         StringRef form) {
  if (ok)
    return success();
  return op->emitOpError() << "attribute '" << attribute.getName().getValue()
                           << "' must be " << form << ", but is "
                           << attribute.getValue();
}

bool isI64(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64);
}

/// Dimension, unit and times.
bool isRepeat(Attribute value) {
  auto words = dyn_cast<DenseI64ArrayAttr>(value);
  return words && words.size() == 3 && words[0] >= 0 && words[1] > 0 &&
         words[2] > 0;
}

LogicalResult unknown(Operation *op, NamedAttribute attribute,
                      StringRef known) {
  return op->emitOpError() << "has the unknown attribute '"
                           << attribute.getName().getValue() << "'; " << known;
}

/// What an attribute of an op, a function mostly, must be.
LogicalResult verifyOfOp(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == numberAttr)
    return expectForm(op, attribute, isI64(value), "an i64");
  if (name == recomputedAttr)
    return expectForm(op, attribute, isa<UnitAttr>(value), "nothing more");
  if (name == repeatedAttr)
    return expectForm(op, attribute, isRepeat(value),
                      "array<i64: dim, unit, times>, the last two positive");
  auto text = dyn_cast<StringAttr>(value);
  if (name == parallelAttr)
    return expectForm(op, attribute,
                      text && (text == "columns" || text == "rows"),
                      "\"columns\" or \"rows\"");
  if (name != viewAttr && name != arenaAttr && name != trainingOnlyAttr &&
      name != deviceThreadsAttr)
    return unknown(op, attribute,
                   "a function can have cp.view, cp.arena, cp.device_threads "
                   "and cp.training_only, an op cp.number, "
                   "cp.repeated, cp.recomputed and cp.parallel");
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "'" << name << "' belongs on a function";
  if (name == deviceThreadsAttr)
    return expectForm(op, attribute, isI64(value),
                      "an i64, a number of threads");
  if (name == arenaAttr)
    return expectForm(op, attribute, isI64(value), "an i64, a number of bytes");
  if (name == trainingOnlyAttr) {
    auto fields = dyn_cast<ArrayAttr>(value);
    return expectForm(op, attribute,
                      fields && llvm::all_of(fields, llvm::IsaPred<StringAttr>),
                      "a list of strings");
  }
  return expectForm(op, attribute,
                    text && (text == "global" || text == "local"),
                    "\"global\" or \"local\"");
}

/// What an attribute of an argument or a result must be.
LogicalResult verifyOfValue(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == nameAttr || name == paramAttr || name == gradientAttr ||
      name == cotangentAttr || name == updatesAttr || name == stateAttr ||
      name == accumulatesAttr)
    return expectForm(op, attribute, isa<StringAttr>(value), "a string");
  if (name == initAttr || name == valueAttr)
    return expectForm(op, attribute, isa<DictionaryAttr>(value),
                      "a dictionary");
  if (name == lengthAttr)
    return expectForm(op, attribute, isI64(value), "an i64, a number of rows");
  if (name == sequenceAttr)
    return expectForm(op, attribute, isI64(value), "an i64, a dimension");
  if (name == layoutAttr)
    return expectForm(op, attribute, isa<LayoutAttr>(value), "a #cp.layout");
  if (name == residualAttr || name == noDecayAttr)
    return expectForm(op, attribute, isa<UnitAttr>(value), "nothing more");
  return unknown(
      op, attribute,
      "an argument or result can have cp.name, cp.param, "
      "cp.init, cp.sequence, cp.length, cp.layout, cp.value, cp.gradient, "
      "cp.cotangent, cp.residual, cp.updates, cp.state, "
      "cp.accumulates and cp.no_decay");
}

} // namespace

void CPDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "cp/IR/CPOps.cpp.inc"
      >();
  addInterfaces<BytecodeInterface, AliasInterface, InlinerInterface>();
}

LogicalResult CPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  return verifyOfOp(op, attribute);
}

LogicalResult CPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned,
                                                  NamedAttribute attribute) {
  return verifyOfValue(op, attribute);
}

LogicalResult CPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  return verifyOfValue(op, attribute);
}

} // namespace cp
