//===- SplitReads.h - Readers of one value in groups -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_SPLITREADS_H
#define CP_LIB_TRANSFORMS_SPLITREADS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Gives the readers of a tensor that very many calls read, and nothing else
/// uses, other values for the same buffer, to so many of them each. Where
/// buffers are chosen each reader of a value is held against all others, which
/// for the scalars that every update of a step reads takes time that grows with
/// the square of the model's depth.
void splitReads(mlir::FunctionOpInterface function);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_SPLITREADS_H
