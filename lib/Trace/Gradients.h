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

/// Of a sum over what `outer` covers, 0 for all there is, and within each over
/// these of another index: both counted as one.
int64_t coverWithin(OpTrace &trace, int64_t outer, const Cover &inner);

/// What a sum over a rank's rows of `x` covers, or of those of each sequence by
/// itself: the same tokens of each. 0 for all of them, unknownId where
/// sequences are not alike.
enum class Rows { OfAll, OfEach };
int64_t coverOfRows(OpTrace &trace, const NamedValue &x, int64_t rank,
                    Rows rows = Rows::OfAll);
/// The same by rank.
std::vector<int64_t> coversOfRows(OpTrace &trace, const NamedValue &x,
                                  Rows rows = Rows::OfAll);

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
