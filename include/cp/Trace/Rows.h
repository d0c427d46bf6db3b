//===- Rows.h - Whether the elements that meet belong together --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors along a sequence begin with two dimensions, batch and row. The number
// of a row is the batch element times the length of the sequence plus the
// token, whichever part of them a rank holds.
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_ROWS_H
#define CP_TRACE_ROWS_H

#include "cp/Trace/OpTrace.h"

namespace cp {

/// For each index along dimensions first to last (as one) which index of the
/// whole stands there on a rank. Reports where elements at one index differ.
Digits digitsOf(OpTrace &trace, const NamedValue &named, int64_t rank,
                size_t first, size_t last);
/// The rows: dimensions 0 and 1 as one.
Digits rowsOf(OpTrace &trace, const NamedValue &named, int64_t rank);
/// How long the sequence is whose rows are dimensions 0 and 1.
int64_t lengthOf(const TracedValue &value);

/// That rows ascend one by one within each of the `batch` elements.
void checkInOrder(OpTrace &trace, const std::string &name, int64_t rank,
                  const Digits &rows, int64_t batch, int64_t length);
/// That two operands have the same rows.
void checkSameRows(OpTrace &trace, const NamedValue &first,
                   const NamedValue &other, int64_t rank, int64_t length);
/// That elements along a dimension are those of another operand's.
void checkSame(OpTrace &trace, const NamedValue &first, size_t firstDim,
               const NamedValue &other, size_t otherDim, int64_t rank);
/// That element i of the heads meets its group's: dimension `dim` of both.
void checkGroups(OpTrace &trace, const NamedValue &heads,
                 const NamedValue &groups, size_t dim, int64_t rank);
/// That no element is a state, or a sum which is not complete.
void checkPlain(OpTrace &trace, const NamedValue &named);

/// Gives a result the ids of `source`, which has its shape.
void sameStructure(OpTrace &trace, unsigned number, const TracedValue &source);
/// The ids of a rank's part from what stands along each dimension; where
/// nothing does, elements have the index that they have here.
Plane idsFrom(const TracedValue &value, llvm::ArrayRef<Digits> digits);

} // namespace cp

#endif // CP_TRACE_ROWS_H
