//===- RowData.h - Rows of a file, a batch at a time ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_ROWDATA_H
#define CP_TOOLS_RUNNING_ROWDATA_H

#include "TrainingData.h"
#include "cp/Execution/RowBatch.h"
#include "llvm/Support/FileSystem.h"

#include <memory>

namespace cp {

/// Rows as data loaders keep them, in a .safetensors file with the tensors of
/// cprt_batch.h: `input_ids`, and where they are `labels`, `seq_lens`,
/// `seq_lens_padded`, a mask. A batch takes as many as the model has rows, and
/// pads them.
class RowData : public TrainingData {
public:
  /// Errors: those of RowBatch::make, of all rows; ids and labels outside the
  /// vocabulary; a tensor that says nothing about rows; fewer rows than a batch
  /// takes.
  static llvm::Expected<std::unique_ptr<TrainingData>>
  read(const std::string &path, const DataShape &shape);
  llvm::Expected<Batch> at(int64_t number) override;

private:
  RowData(const DataShape &shape, TensorFile file, int64_t rows);
  llvm::Error check();
  llvm::Error checkUnchanged() const;
  /// Of some rows.
  llvm::Error check(llvm::ArrayRef<int64_t> wanted);
  llvm::Expected<RowBatch> batchOf(llvm::ArrayRef<int64_t> wanted) const;
  /// Rows of one of the file's tensors, in this order.
  TensorView take(const TensorView &view, llvm::ArrayRef<int64_t> rows,
                  std::vector<uint8_t> &memory) const;

  TensorFile file;
  /// Of the file as it was opened, where that is known.
  llvm::sys::fs::file_status status;
  bool isKnown = false;
  int64_t rows;
  PassOrder order;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_ROWDATA_H
