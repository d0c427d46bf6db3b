//===- InitAttr.h - How to draw a tensor, as an attribute -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FRONTEND_INITATTR_H
#define CP_FRONTEND_INITATTR_H

#include "cp/Model/Draw.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace cp {

/// How to draw a tensor, as the attribute `cp.init`: its kind, and the numbers
/// that the kind takes.
mlir::DictionaryAttr toAttr(mlir::MLIRContext *context, const InitSpec &init);
/// And back; of the kind Unknown when the attribute is of another form.
InitSpec fromAttr(mlir::DictionaryAttr attribute);

} // namespace cp

#endif // CP_FRONTEND_INITATTR_H
