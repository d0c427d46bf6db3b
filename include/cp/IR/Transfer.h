//===- Transfer.h - What a collective moves ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_TRANSFER_H
#define CP_IR_TRANSFER_H

#include "cp/Layout/Step.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace cp {
class MeshAttr;

/// The step that one tensor goes through, on axes of the op's mesh. `shape` is
/// that of a rank's part before it, repeated as the op repeats it.
struct TensorStep {
  mlir::Value source;
  std::vector<int64_t> shape;
  Step step;
};

/// What a collective does to one tensor, as far as its group goes: cuts by
/// other axes are not known in the local view. Both are empty where a tensor
/// need not be a part of a whole one: a summary of states, what is shifted.
struct Transfer {
  std::optional<Layout> from, to;
};

/// The transfers of steps.
llvm::SmallVector<Transfer> transfersOf(MeshAttr mesh,
                                        llvm::ArrayRef<TensorStep> steps);
/// The bytes that the rank at each position of the group sends in them.
llvm::SmallVector<int64_t> bytesSentBy(MeshAttr mesh, mlir::ArrayAttr axes,
                                       llvm::ArrayRef<TensorStep> steps);

/// The bytes of one element; 0 for a type that is no number.
int64_t elementBytes(mlir::Type tensor);

} // namespace cp

#endif // CP_IR_TRANSFER_H
