//===- ZigzagParts.h - Ops on two parts of a sequence -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's rows of a sequence that is cut in zigzag order are two parts of it,
// one behind the other. An op that runs along the sequence takes each as a
// sequence of its own when it sees x[b, l, ...] as x[2b, l/2, ...]: elements 2i
// and 2i + 1 of the batch are the parts of element i, and no data moves.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_ZIGZAGPARTS_H
#define CP_LIB_TRANSFORMS_ZIGZAGPARTS_H

#include "cp/IR/CPDialect.h"
#include "cp/IR/SequenceParts.h"

namespace cp {

/// Fails, after partition_c3 on its op.
mlir::LogicalResult refuseResult(mlir::OpResult result);

/// Whether the op can run so: each of its tensors with the sequence has the
/// same batch factor right in front of it, and no result that is used has one
/// value for the whole of a batch element. Fails after partition_c1 or
/// partition_c3 on the op. `rule` is the op's own, as in what follows.
mlir::LogicalResult checkZigzagParts(SequenceOpInterface op,
                                     const ShardingRule &rule);

/// Makes the op, which passed the check and whose types are those of one rank
/// by now, run on the parts: tensors with the sequence are seen as parts, what
/// belongs to a whole batch element (an initial state) is given to both of its
/// parts. The initial rows of a window are left as they are: see
/// WindowOpInterface::setInitialRows. Returns the size that the dimension in
/// front of the sequence has by then.
int64_t runOnZigzagParts(SequenceOpInterface op, const ShardingRule &rule);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ZIGZAGPARTS_H
