//===- ArgumentAttributes.h - One attribute on many arguments ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_ARGUMENTATTRIBUTES_H
#define CP_LIB_TRANSFORMS_ARGUMENTATTRIBUTES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// The name that an argument goes by: its `cp.param` or `cp.name`, or "argN".
mlir::StringAttr nameOf(mlir::FunctionOpInterface function, unsigned argument);

/// A function's arguments by their names. Of several with one name the first
/// counts.
class ArgumentNames {
public:
  explicit ArgumentNames(mlir::FunctionOpInterface function);
  /// Null where none has the name.
  mlir::BlockArgument find(mlir::StringAttr name) const {
    return arguments.lookup(name);
  }

private:
  llvm::DenseMap<mlir::StringAttr, mlir::BlockArgument> arguments;
};

/// Whether an op makes parameters whole that are kept in parts.
bool gathersParameters(mlir::Operation *op);

/// Adds attribute `name` to each list for which `valueOf(index)` is not null.
inline llvm::SmallVector<mlir::DictionaryAttr>
withAttrs(llvm::SmallVector<mlir::DictionaryAttr> lists, llvm::StringRef name,
          llvm::function_ref<mlir::Attribute(unsigned)> valueOf) {
  for (auto [index, attributes] : llvm::enumerate(lists)) {
    mlir::Attribute value = valueOf(index);
    if (!value)
      continue;
    mlir::NamedAttrList list(attributes);
    list.set(name, value);
    attributes = list.getDictionary(value.getContext());
  }
  return lists;
}

/// Sets attribute `name` of each argument for which `valueOf(index)` is not
/// null. All at once: a function's list of argument attributes is one uniqued
/// attribute, so that setting them one by one leaves as many lists behind as
/// there are arguments.
inline void
setArgumentAttrs(mlir::FunctionOpInterface function, llvm::StringRef name,
                 llvm::function_ref<mlir::Attribute(unsigned)> valueOf) {
  llvm::SmallVector<mlir::DictionaryAttr> all;
  function.getAllArgAttrs(all);
  function.setAllArgAttrs(withAttrs(std::move(all), name, valueOf));
}

/// The same for results.
inline void
setResultAttrs(mlir::FunctionOpInterface function, llvm::StringRef name,
               llvm::function_ref<mlir::Attribute(unsigned)> valueOf) {
  llvm::SmallVector<mlir::DictionaryAttr> all;
  function.getAllResultAttrs(all);
  function.setAllResultAttrs(withAttrs(std::move(all), name, valueOf));
}

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ARGUMENTATTRIBUTES_H
