//===- Rows.cpp - Rows of a batch for a model -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace cp {

static bool isTaken(llvm::ArrayRef<TensorSpec> specs, StringRef name) {
  return llvm::any_of(specs, [&](const TensorSpec &spec) {
    return !spec.isParam && spec.name == name;
  });
}

/// What says how rows lie; and labels, which a run without a loss asks no one.
static constexpr StringRef describing[] = {"attention_mask",  "padding_mask",
                                           "position_ids",    "seq_lens",
                                           "seq_lens_padded", "labels"};

static llvm::Error checkTaken(const TensorFile &file,
                              llvm::ArrayRef<TensorSpec> specs) {
  for (const TensorView &view : file.tensors())
    if (!isTaken(specs, view.name) &&
        !llvm::is_contained(describing, view.name))
      return llvm::createStringError(
          file.label() + ": the model does not take '" + view.name +
          "', and a batch is not described by it; leave it out of the file");
  return llvm::Error::success();
}

llvm::Expected<RowBatch> readRows(const std::string &path,
                                  llvm::ArrayRef<TensorSpec> specs) {
  std::optional<RowBatch::Shape> shape = RowBatch::shapeFor(specs);
  if (!shape)
    return llvm::createStringError(
        "--rows: the model takes no rows of tokens; give --inputs");
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = checkTaken(*file, specs))
    return error;
  llvm::Expected<RowBatch> rows = RowBatch::make(file->tensors(), *shape);
  llvm::Error error = rows ? llvm::Error::success() : rows.takeError();
  if (!error && !isTaken(specs, "position_ids"))
    error = rows->checkPositions();
  if (error)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  return rows;
}

llvm::Expected<RowBatch> readRows(const Options &options,
                                  llvm::ArrayRef<TensorSpec> specs) {
  if (!options.inputs.empty() || !options.labels.empty())
    return llvm::createStringError(
        "--rows gives all that is no parameter, but --" +
        llvm::Twine(options.inputs.empty() ? "labels" : "inputs") +
        " is there too; give one of them");
  return readRows(options.rows, specs);
}

} // namespace cp
