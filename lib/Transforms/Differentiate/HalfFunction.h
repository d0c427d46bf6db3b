//===- HalfFunction.h - One of two functions made of one --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_HALFFUNCTION_H
#define CP_LIB_TRANSFORMS_HALFFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cp {

/// All that an op reads, in its regions too.
llvm::SmallVector<mlir::Value> readsOf(mlir::Operation *op);

/// Refuses a function that cannot be made into those with these suffixes: of
/// several blocks, with layouts in its types, with ops that write to memory,
/// called by others, or beside functions of these names.
llvm::LogicalResult checkSplits(mlir::func::FuncOp function,
                                llvm::ArrayRef<llvm::StringRef> suffixes,
                                llvm::StringRef label);

/// Builds one of the functions.
class HalfFunction {
public:
  HalfFunction(mlir::func::FuncOp whole, llvm::StringRef suffix)
      : whole(whole), name((whole.getName() + suffix).str()) {}

  /// One that stands for a value of the whole. Scalars may be passed as one
  /// element.
  void addArgument(mlir::Value value, mlir::Type type,
                   mlir::DictionaryAttr attributes);
  /// The arguments of the whole that `isTaken` says.
  void addArguments(llvm::function_ref<bool(mlir::BlockArgument)> isTaken);
  void addResult(mlir::Value value, mlir::Type type,
                 mlir::DictionaryAttr attributes);
  /// One that the whole gives.
  void addResult(unsigned result);

  /// In front of the whole, of these ops.
  void build(const llvm::DenseSet<mlir::Operation *> &ops);

private:
  mlir::func::FuncOp whole;
  std::string name;
  llvm::SmallVector<mlir::Value> originals, results;
  llvm::SmallVector<mlir::Type> types, resultTypes;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttrs, resultAttrs;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_HALFFUNCTION_H
