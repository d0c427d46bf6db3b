//===- Gradients.h - Sums over a rank's own tokens --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRACE_GRADIENTS_H
#define CP_LIB_TRACE_GRADIENTS_H

#include "cp/Trace/Rows.h"

namespace cp {

/// What a sum over a rank's rows of `x` covers: of each sequence the same
/// tokens. 0 for all of them, unknownId where sequences are not alike.
int64_t coverOfRows(OpTrace &trace, const NamedValue &x, int64_t rank);
/// The same by rank.
std::vector<int64_t> coversOfRows(OpTrace &trace, const NamedValue &x);

/// Gives a result the ids of an operand whose cotangent it is, and what each
/// rank's sum covers. Unknown where the operand's ids are.
void setSumLike(OpTrace &trace, unsigned number, const TracedValue &like,
                llvm::ArrayRef<int64_t> covers);
/// The same where dimensions of `x`, which has ids, say which elements there
/// are.
void setSumAlong(OpTrace &trace, unsigned number, const NamedValue &x,
                 llvm::ArrayRef<size_t> dims, llvm::ArrayRef<int64_t> covers);

} // namespace cp

#endif // CP_LIB_TRACE_GRADIENTS_H
