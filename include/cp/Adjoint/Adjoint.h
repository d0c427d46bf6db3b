//===- Adjoint.h - Reverse mode over a block --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of a value is the derivative of the loss by it: a value of the
// same shape. A block is gone through backwards; each op takes the cotangents
// of its results and adds to those of its operands.
//
// Source: Griewank and Walther, "Evaluating Derivatives", 2nd ed., chapter 3.
//
//===----------------------------------------------------------------------===//

#ifndef CP_ADJOINT_ADJOINT_H
#define CP_ADJOINT_ADJOINT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cp {

class MeshAttr;
class ReverseSweep;

/// What the adjoint of one op is built with. Lives while that is built.
class AdjointContext {
public:
  AdjointContext(ReverseSweep &sweep, mlir::Operation *op)
      : sweep(sweep), op(op) {}

  /// Where the adjoint is built, and its location: the op's.
  mlir::OpBuilder &getBuilder();
  mlir::Location getLoc();

  /// The cotangent of a result, of its type; null for zero.
  mlir::Value cotangent(unsigned result = 0);
  /// The same as it was summed: where the result is bf16, it may be f32.
  mlir::Value wideCotangent(unsigned result = 0);
  /// The same, with a tensor of zeros in place of null.
  mlir::Value cotangentOrZeros(unsigned result = 0);

  /// Whether anybody asks for the cotangent of an operand. Never for integers,
  /// nor for what nothing that is differentiated reaches.
  bool isWanted(unsigned operand);

  /// Adds to the cotangent of an operand a value of its shape. Elements may be
  /// those of sums: f32 where the operand is bf16.
  void add(unsigned operand, mlir::Value value);
  /// The same for a value that an operand was computed of, by an op that stands
  /// before this one and whose own adjoint knows nothing of it.
  void addTo(mlir::Value value, mlir::Value cotangent);
  /// Adds to those elements of an operand's cotangent that a slice at these
  /// offsets, of the value's shape and of stride 1, has.
  void addSlice(unsigned operand, mlir::Value value,
                llvm::ArrayRef<int64_t> offsets);

private:
  ReverseSweep &sweep;
  mlir::Operation *op;
};

/// Goes through a block backwards and builds cotangents with `builder`, which
/// stays where they are to be. The values of the block must be in scope there.
class ReverseSweep {
public:
  /// `wanted` holds the values whose cotangents are asked for: those that are
  /// differentiated, and what is computed of them.
  ReverseSweep(mlir::OpBuilder &builder,
               const llvm::DenseSet<mlir::Value> &wanted)
      : builder(builder), wanted(wanted) {}

  /// Adds to the cotangent of a value.
  void seed(mlir::Value value, mlir::Value cotangent);

  /// The adjoints of `ops`, the last first. Fails after an error on an op that
  /// has none.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

  /// What was added to the cotangent of a value, in sum; null for nothing.
  /// Elements are the value's, or those of sums.
  mlir::Value total(mlir::Value value);

private:
  friend class AdjointContext;

  /// A part of a cotangent, at `offsets`; all of it where there are none.
  struct Part {
    mlir::Value value;
    llvm::SmallVector<int64_t> offsets;
  };

  void add(mlir::Value value, Part part);
  mlir::Value sumOf(mlir::Location loc, mlir::Value a, mlir::Value b);
  mlir::Value assemble(mlir::Location loc, mlir::Value whole,
                       llvm::ArrayRef<Part> slices,
                       mlir::RankedTensorType type);

  mlir::OpBuilder &builder;
  const llvm::DenseSet<mlir::Value> &wanted;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Part, 2>> parts;
};

/// Whether derivatives by a value make sense: floats and tensors of them.
bool isDifferentiable(mlir::Type type);

/// Values from outside that the op's regions read without an operand of it.
llvm::SetVector<mlir::Value> capturedBy(mlir::Operation *op);

/// Of `values` and all that `ops`, in program order, compute of them: what is
/// differentiable.
llvm::DenseSet<mlir::Value>
findDependents(llvm::ArrayRef<mlir::Value> values,
               llvm::ArrayRef<mlir::Operation *> ops);

/// What to do about an op without a derivative.
llvm::StringRef adviceWithoutAdjoint(mlir::Operation *op);

/// A tensor on the ranks at these positions of the group over the mesh's
/// `axes`, zeros on its others: a term of a sum that is the same on each of
/// them.
mlir::Value onPositions(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, MeshAttr mesh, mlir::ArrayAttr axes,
                        llvm::ArrayRef<int64_t> positions);

/// Attaches AdjointOpInterface to the ops of arith, math, linalg and tensor
/// that have derivatives, and to ours.
void registerAdjointModels(mlir::DialectRegistry &registry);

} // namespace cp

#include "cp/Adjoint/AdjointInterface.h.inc"

#endif // CP_ADJOINT_ADJOINT_H
