//===- PadSequence.h - Lengths that ranks do not divide ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PADSEQUENCE_H
#define CP_LIB_TRANSFORMS_PADSEQUENCE_H

#include "cp/Transforms/Sharding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Puts rows behind the last one of each sequence that the cuts of `sharding`
/// do not divide, so that they do. What is behind a row changes no causal op's
/// result at it; what would see the new rows all the same is given zeros, or
/// what else stands for nothing there. Arguments and results keep, as
/// `cp.length`, how many rows their callers have. Remarks `length` of category
/// `cut`. Twice is as once. Fails after an error on an op that has to see the
/// last row, or of which that is not known:
///   pad_sequence_c1  an argument that has the tokens along a dimension that is
///                    not its `cp.sequence`
///   pad_sequence_c2  an op that needs all rows and no more than these
///   pad_sequence_c3  an op along the sequence that is not causal, or a final
///                    state that is used
llvm::LogicalResult padSequence(mlir::FunctionOpInterface function,
                                const Sharding &sharding);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PADSEQUENCE_H
