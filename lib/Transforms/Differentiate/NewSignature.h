//===- NewSignature.h - Arguments and results that a pass adds --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_NEWSIGNATURE_H
#define CP_LIB_TRANSFORMS_NEWSIGNATURE_H

#include "cp/IR/CPDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Arguments behind those that a function has, which are added at once: a type
/// for each number of arguments would be kept.
class NewArguments {
public:
  explicit NewArguments(mlir::FunctionOpInterface function)
      : function(function), first(function.getNumArguments()) {}

  /// Its number; `cp.name` is its name, and of another attribute `value`, if
  /// there is one.
  unsigned add(mlir::Type type, const llvm::Twine &name,
               llvm::StringRef attribute = {}, mlir::Attribute value = {});
  llvm::LogicalResult insert();

private:
  mlir::FunctionOpInterface function;
  unsigned first;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
};

/// All results of a function, which are set at once.
class NewResults {
public:
  explicit NewResults(mlir::FunctionOpInterface function)
      : function(function) {}

  /// With what the function says of that one of its results.
  void keep(unsigned result, mlir::Value value);
  /// With this attribute alone.
  void add(mlir::Value value, llvm::StringRef attribute, mlir::Attribute of);
  /// Those that are not in the list go.
  void set();

private:
  mlir::FunctionOpInterface function;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_NEWSIGNATURE_H
