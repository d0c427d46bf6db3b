//===- Runs.h - What states have gone over ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state covers the rows that it has gone over, as one run of them; see Cover.
// A summary is the state of a rank's own rows, from nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_RUNS_H
#define CP_TRACE_RUNS_H

#include "cp/Trace/Rows.h"

namespace cp {

/// The one cover of all elements of batch element `batch`; nothing where these
/// are zeros, unknownId, after a finding, when they differ.
std::optional<int64_t> coverOf(OpTrace &trace, const NamedValue &named,
                               int64_t rank, int64_t batch);
/// The run that `count` rows of a batch element make, or unknownId.
int64_t runOf(OpTrace &trace, const Digits &rows, int64_t batch, int64_t count);
/// What a state covers that began at one of cover `before` and went over `run`.
int64_t joinRuns(OpTrace &trace, std::optional<int64_t> before, int64_t run);

/// That a state covers all rows of the sequence before `row`, and no other; in
/// reverse all behind it. `mayBePlain`: also a value from outside, which covers
/// nothing.
void checkPrefix(OpTrace &trace, const NamedValue &state, int64_t rank,
                 int64_t batch, int64_t row, int64_t length, bool mayBePlain,
                 bool isReverse = false);

/// Gives a result the ids of a summary, `[b, ...]`: the batch element of the
/// rows of the first of `parts`, then index for index what stands along
/// dimension dims[i] of parts[i]. Covers are given by rank and batch element.
/// The result is unknown where the first of `parts` is a constant.
void setSummary(OpTrace &trace, unsigned number,
                llvm::ArrayRef<NamedValue> parts, llvm::ArrayRef<size_t> dims,
                llvm::ArrayRef<std::vector<int64_t>> coversByRank);

/// Gives a result, `[b, ...]`, that only the other half of the op reads, covers
/// by rank and batch element; and that it is of such a run there.
void setKept(OpTrace &trace, unsigned number,
             llvm::ArrayRef<std::vector<int64_t>> coversByRank);
void checkKept(OpTrace &trace, const NamedValue &kept, int64_t rank,
               int64_t batch, int64_t run, int64_t length);

} // namespace cp

#endif // CP_TRACE_RUNS_H
