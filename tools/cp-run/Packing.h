//===- Packing.h - What packing rows costs ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_PACKING_H
#define CP_TOOLS_CPRUN_PACKING_H

#include "cp/Execution/RowBatch.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// Of each row the documents that have places.
using PackedRows = std::vector<std::vector<RowBatch::Document>>;

/// Where documents lie by their list, `cu_seqlens` `[b, n + 1]` of i32, all of
/// whose places count as tokens. Errors: one that is no list of documents in
/// rows of `length` tokens, with its row.
llvm::Expected<PackedRows> packedRows(const HostTensor &list, int64_t length);

/// Prints how many places hold no token, and how uneven ranks' attention is
/// where queries stay with their tokens, or are brought into the order
/// `perDocument`. A token's work is the number of keys of its document that it
/// sees.
void printPacking(const PackedRows &rows, llvm::ArrayRef<TensorSpec> specs,
                  std::optional<Order> perDocument, llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_CPRUN_PACKING_H
