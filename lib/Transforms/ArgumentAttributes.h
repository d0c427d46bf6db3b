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

/// Sets attribute `name` of each argument for which `valueOf(index)` is not
/// null. All at once: a function's list of argument attributes is one uniqued
/// attribute, so that setting them one by one leaves as many lists behind as
/// there are arguments.
inline void
setArgumentAttrs(mlir::FunctionOpInterface function, llvm::StringRef name,
                 llvm::function_ref<mlir::Attribute(unsigned)> valueOf) {
  llvm::SmallVector<mlir::DictionaryAttr> all;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    mlir::NamedAttrList list(function.getArgAttrDict(i));
    if (mlir::Attribute value = valueOf(i))
      list.set(name, value);
    all.push_back(list.getDictionary(function->getContext()));
  }
  function.setAllArgAttrs(all);
}

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ARGUMENTATTRIBUTES_H
