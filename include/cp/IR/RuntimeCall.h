//===- RuntimeCall.h - What an op hands to the runtime ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_RUNTIMECALL_H
#define CP_IR_RUNTIMECALL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace cp {

/// The inputs of a runtime call, in the order of the operation's table, and its
/// attributes in that order. `RuntimeOpInterface::getRuntimeCall` fills it.
class RuntimeCall {
public:
  /// Its inputs are the op's operands, until told otherwise.
  explicit RuntimeCall(mlir::Operation *op)
      : builder(op->getContext()), ins(op->getOperands()) {}

  /// The inputs: null for one that is left out.
  void setInputs(llvm::ArrayRef<mlir::Value> inputs) {
    ins.assign(inputs.begin(), inputs.end());
  }
  llvm::ArrayRef<mlir::Value> getInputs() const { return ins; }

  void flag(llvm::StringRef name, bool value) {
    append(name, builder.getBoolAttr(value));
  }
  void integer(llvm::StringRef name, int64_t value) {
    append(name, builder.getI64IntegerAttr(value));
  }
  void number(llvm::StringRef name, const llvm::APFloat &value) {
    append(name, builder.getF64FloatAttr(value.convertToDouble()));
  }
  void array(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    append(name, builder.getDenseI64ArrayAttr(values));
  }
  /// In the order in which they were written.
  llvm::ArrayRef<mlir::NamedAttribute> getAttributes() const {
    return attributes;
  }

private:
  void append(llvm::StringRef name, mlir::Attribute value) {
    attributes.emplace_back(builder.getStringAttr(name), value);
  }

  mlir::Builder builder;
  llvm::SmallVector<mlir::Value> ins;
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// Appends the words of a call's attributes: a flag or an integer is one, a
/// float the bits of a double, an array its length and its elements. Of other
/// attributes there are none.
void appendWords(llvm::ArrayRef<mlir::NamedAttribute> attributes,
                 llvm::SmallVectorImpl<int64_t> &words);

/// Reads and writes the inputs of a `cp.call`, of which `none` stands for one
/// that is left out: `custom<Inputs>`.
mlir::ParseResult
parseInputs(mlir::OpAsmParser &parser,
            llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &ins,
            llvm::SmallVectorImpl<mlir::Type> &types,
            mlir::DenseI64ArrayAttr &absent);
void printInputs(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                 mlir::OperandRange ins, mlir::TypeRange types,
                 mlir::DenseI64ArrayAttr absent);

} // namespace cp

#endif // CP_IR_RUNTIMECALL_H
