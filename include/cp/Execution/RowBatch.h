//===- RowBatch.h - Rows of any length for a program ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has rows of one length, lists of so many documents, and cuts them
// by itself. This makes whole tensors for it of rows as data loaders have them:
// batches of cprt_batch.h for one rank.
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_ROWBATCH_H
#define CP_EXECUTION_ROWBATCH_H

#include "cp/Execution/Program.h"
#include "cp/Files/Safetensors.h"

#include <memory>

struct cprt_batch;

namespace cp {

class RowBatch {
public:
  /// What a program takes. `documents` is the most of a row.
  struct Shape {
    int64_t rows, length, documents;
  };
  /// Of a program's arguments its input_ids, or the first one that has rows of
  /// tokens and is neither a parameter nor a list of documents; null for none.
  static const TensorSpec *tokensOf(llvm::ArrayRef<TensorSpec> specs);
  /// Its rows and length, and the documents of cu_seqlens, 0 without.
  static std::optional<Shape> shapeFor(llvm::ArrayRef<TensorSpec> specs);

  /// Tensors by the names of cprt_batch.h, which are copied; of other ones
  /// dimension 1 is that of tokens. More rows than the program has are packed
  /// end to end. With labels among them these are taken as they are, otherwise
  /// they are the next token of each document. Errors: those of
  /// cprt_batch_create, in which rows have the numbers of `tensors`; a row of
  /// several documents, or one that begins with padding, of a program that
  /// takes no list of them.
  static llvm::Expected<RowBatch> make(llvm::ArrayRef<TensorView> tensors,
                                       Shape shape);

  /// `slots` places of a row from `begin` on, the first of which hold tokens.
  struct Document {
    int64_t begin, tokens, slots;
  };
  /// Of each row of the program, those that have places; padding is one too.
  std::vector<std::vector<Document>> documents() const;

  /// The whole tensor for an argument; `cu_seqlens` says where documents lie.
  /// Errors: none of the name, another shape, a number that the type of the
  /// argument has not.
  llvm::Expected<HostTensor> take(const TensorSpec &spec) const;
  /// An error where the batch came with position_ids other than those that
  /// programs count by themselves, from 0 in each document.
  llvm::Error checkPositions() const;
  /// A result for each token, [rows, length, ...], becomes one of the rows that
  /// the batch was made of. Others stay as they are.
  HostTensor trim(const HostTensor &result) const;

private:
  struct Destroy {
    void operator()(cprt_batch *batch) const;
  };
  std::unique_ptr<cprt_batch, Destroy> batch;
};

} // namespace cp

#endif // CP_EXECUTION_ROWBATCH_H
