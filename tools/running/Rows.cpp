//===- Rows.cpp - Rows of a batch for a model -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "ReadTokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

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

static llvm::Expected<RowBatch> readFile(const std::string &path,
                                         llvm::ArrayRef<TensorSpec> specs,
                                         RowBatch::Shape shape) {
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = checkTaken(*file, specs))
    return error;
  llvm::Expected<RowBatch> rows = RowBatch::make(file->tensors(), shape);
  llvm::Error error = rows ? llvm::Error::success() : rows.takeError();
  if (!error && !isTaken(specs, "position_ids"))
    error = rows->checkPositions();
  if (error)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  return rows;
}

namespace {
/// Rows that documents fill in turn, each as far as the next one fits.
struct FilledRows {
  RowBatch::Shape shape;
  std::vector<int64_t> ids;
  /// [rows, documents that there are]; none is -1000.
  std::vector<int64_t> lengths;
  size_t row = 0, number = 0;
  int64_t used = 0;

  FilledRows(RowBatch::Shape shape, size_t documents)
      : shape(shape), ids(size_t(shape.rows * shape.length)),
        lengths(size_t(shape.rows) * documents, -1000) {}

  llvm::Error add(llvm::ArrayRef<int64_t> document, llvm::StringRef path) {
    auto length = int64_t(document.size());
    if (length > shape.length)
      return llvm::createStringError(path + " has " + llvm::Twine(length) +
                                     " tokens, but a row of the model " +
                                     llvm::Twine(shape.length) +
                                     "; make the program with a larger --seq");
    if (used + length > shape.length) {
      ++row;
      used = 0;
    }
    if (row == size_t(shape.rows))
      return llvm::createStringError(
          "the rows of the model, " + llvm::Twine(shape.rows) + " of " +
          llvm::Twine(shape.length) + " tokens, are full before " + path +
          "; make the program with a larger --batch-size or --seq");
    llvm::copy(document, ids.begin() + int64_t(row) * shape.length + used);
    lengths[row * (lengths.size() / size_t(shape.rows)) + number++] = length;
    used += length;
    return llvm::Error::success();
  }
};
} // namespace

static TensorView viewOf(llvm::StringRef name, int64_t rows,
                         llvm::ArrayRef<int64_t> numbers) {
  TensorView view;
  view.name = name.str();
  view.dtype = DType::I64;
  view.shape = {rows, int64_t(numbers.size()) / rows};
  view.bytes = {reinterpret_cast<const uint8_t *>(numbers.data()),
                numbers.size() * sizeof(int64_t)};
  return view;
}

static llvm::Expected<RowBatch>
readDocuments(llvm::ArrayRef<llvm::StringRef> paths, RowBatch::Shape shape) {
  FilledRows rows(shape, paths.size());
  for (llvm::StringRef path : paths) {
    llvm::Expected<std::vector<int64_t>> tokens = readTokens(path.str());
    if (!tokens)
      return tokens.takeError();
    if (llvm::Error error = rows.add(*tokens, path))
      return error;
  }
  return RowBatch::make({viewOf("input_ids", shape.rows, rows.ids),
                         viewOf("seq_lens", shape.rows, rows.lengths)},
                        shape);
}

llvm::Expected<RowBatch> readRows(const RunFlags &options,
                                  llvm::ArrayRef<TensorSpec> specs) {
  if (!options.inputs.empty() || !options.labels.empty())
    return llvm::createStringError(
        "--rows gives all that is no parameter, but --" +
        llvm::Twine(options.inputs.empty() ? "labels" : "inputs") +
        " is there too; give one of them");
  std::optional<RowBatch::Shape> shape = RowBatch::shapeFor(specs);
  if (!shape)
    return llvm::createStringError(
        "--rows: the model takes no rows of tokens; give --inputs");
  llvm::SmallVector<llvm::StringRef> paths;
  llvm::StringRef(options.rows)
      .split(paths, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  auto holdsRows = [](llvm::StringRef path) {
    return path.ends_with(".json") ||
           path.ends_with_insensitive(".safetensors");
  };
  auto *rows = llvm::find_if(paths, holdsRows);
  // A comma may be one of its name.
  if (rows != paths.end() &&
      (paths.size() == 1 || llvm::sys::fs::exists(options.rows)))
    return readFile(options.rows, specs, *shape);
  if (rows != paths.end())
    return llvm::createStringError(
        "--rows: '" + *rows +
        "' holds rows of a batch, and stands among documents; give it alone, "
        "or files of tokens with commas between");
  if (paths.empty())
    return llvm::createStringError(
        "--rows names no file; give a .safetensors file, or documents with "
        "commas between");
  return readDocuments(paths, *shape);
}

} // namespace cp
