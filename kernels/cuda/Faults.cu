//===- Faults.cu - What kernels find wrong in data ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"

namespace cp::kernels::cuda {

static thread_local int64_t *current = nullptr;

void noteFaultsAt(int64_t *record) { current = record; }
int64_t *faultRecord() { return current; }

const char *faultText(const int64_t *record) {
  switch (Fault(record[0])) {
  case Fault::None:
    return nullptr;
  case Fault::Id:
    return fail(
        "embedding: id %lld (number %lld) is no row of the table; check "
        "the tokenizer's vocabulary",
        (long long)record[2], (long long)record[1]);
  case Fault::Rate:
    return "the rate of an optimizer's step must be a number; give another one";
  case Fault::Step:
    return fail("adamw: step must be at least 1, the first one, got %lld; "
                "count the steps from 1",
                (long long)record[2]);
  case Fault::Label:
    return fail("linear_cross_entropy: label %lld of token %lld is no row of "
                "the weight, nor ignore_index; check the tokenizer's "
                "vocabulary",
                (long long)record[2], (long long)record[1]);
  case Fault::FirstDocument:
    return fail("document_positions: row %lld of this rank's cu_seqlens begins "
                "with %lld, expected 0",
                (long long)record[1], (long long)record[2]);
  case Fault::NextDocument:
    return fail("document_positions: row %lld of this rank's cu_seqlens falls "
                "to %lld, expected where each document ends, in their order",
                (long long)record[1], (long long)record[2]);
  case Fault::LastDocument:
    return fail("document_positions: row %lld of this rank's cu_seqlens ends "
                "with %lld, expected the tokens of the row; repeat it in what "
                "is left of the list, and let padding be a document of its own",
                (long long)record[1], (long long)record[2]);
  case Fault::OtherDocuments:
    return fail("document_positions: positions 0 and %lld of the group have "
                "other documents in row %lld of their cu_seqlens; give all "
                "ranks of a sequence the same",
                (long long)record[2], (long long)record[1]);
  }
  return "a kernel has noted what nobody knows";
}

bool isOfOtherRanks(const int64_t *record) {
  return Fault(record[0]) == Fault::OtherDocuments;
}

} // namespace cp::kernels::cuda
