//===- PaddingMasks.h - Rows of padding that nobody sees --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PADDINGMASKS_H
#define CP_LIB_TRANSFORMS_PADDINGMASKS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cp {

/// An operand of which an op would see the rows of padding, and what they have
/// to be.
struct MaskedRows {
  mlir::OpOperand *operand;
  int64_t dim, length;
  mlir::TypedAttr fill;
};

/// Gives it such rows. They are chosen, not multiplied: what they were is not
/// seen, NaN included.
void mask(const MaskedRows &rows);

/// A sum over a loop whose iterations from `length` on are padding, and add 0.
struct MaskedLoop {
  mlir::linalg::GenericOp op;
  unsigned loop;
  int64_t length;
};

/// Whether each result is what there is so far and one addend, so that maskLoop
/// can choose what that is.
bool addsUp(mlir::linalg::GenericOp op);
/// Gives the op one more input, the number of the iteration, by which what it
/// adds is chosen.
void maskLoop(const MaskedLoop &masked);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PADDINGMASKS_H
