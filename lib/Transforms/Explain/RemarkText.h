//===- RemarkText.h - The words of remarks ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_REMARKTEXT_H
#define CP_LIB_TRANSFORMS_REMARKTEXT_H

#include "cp/IR/CPDialect.h"
#include "mlir/IR/Remarks.h"

#include <string>

namespace cp {

/// Whether anybody listens. Nothing that a remark says is made up otherwise.
inline bool wantsRemarks(mlir::Operation *op) {
  return op->getContext()->getRemarkEngine() != nullptr;
}

/// Beyond it nobody reads what each rank sends.
inline constexpr int64_t mostExplainedRanks = 4096;

/// A layout as the IR writes it, without its mesh: `[{}, {"cp"}, {}]`.
std::string textOf(LayoutAttr layout);

/// Axes as the IR writes them: `"dp", "cp"`.
std::string textOf(mlir::ArrayAttr axes);

/// Adds `bytes`, the most that one rank sends, and where ranks differ
/// `bytes_by_rank`. Without a list of ranks `bytes` says that there are too
/// many.
void addBytes(mlir::remark::detail::InFlightRemark &remark,
              llvm::ArrayRef<int64_t> bytesByRank);

/// What an op's users, seen through changes of shape, are called; each once, in
/// the order of the program.
llvm::SmallVector<mlir::Operation *> consumersOf(mlir::Operation *op);
std::string namesOf(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_REMARKTEXT_H
