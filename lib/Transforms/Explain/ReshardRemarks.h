//===- ReshardRemarks.h - What the reshards are for -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_RESHARDREMARKS_H
#define CP_LIB_TRANSFORMS_RESHARDREMARKS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// One remark of category `reshard` for each reshard of a function in the
/// global view: from and to which layout, for whom and why, by which steps, and
/// how many bytes they make a rank send.
void remarkReshards(mlir::FunctionOpInterface function);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_RESHARDREMARKS_H
