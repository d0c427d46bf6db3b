//===- RowData.cpp - Rows of a file, a batch at a time --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowData.h"

#include "ReadTokens.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>
#include <numeric>

using llvm::ArrayRef;

namespace cp {

static constexpr llvm::StringRef known[] = {
    "input_ids", "labels",          "attention_mask", "padding_mask",
    "seq_lens",  "seq_lens_padded", "position_ids"};

/// What no loss is asked of.
static constexpr int64_t ignored = -100;

/// One row of position_ids for all.
static bool isShared(const TensorView &view) {
  return view.name == "position_ids" && view.shape[0] == 1;
}

RowData::RowData(const DataShape &shape, TensorFile opened, int64_t rows)
    : TrainingData(shape), file(std::move(opened)), rows(rows),
      order(rows, shape.seed) {
  isKnown = !llvm::sys::fs::status(file.label(), status);
}

/// What is read is the file itself, as it is by now. One that took its name
/// does not matter.
llvm::Error RowData::checkUnchanged() const {
  llvm::sys::fs::file_status now;
  if (!isKnown || llvm::sys::fs::status(file.label(), now) ||
      now.getUniqueID() != status.getUniqueID() ||
      (now.getSize() == status.getSize() &&
       now.getLastModificationTime() == status.getLastModificationTime()))
    return llvm::Error::success();
  return llvm::createStringError(
      file.label() + ": was written to while it was trained on; write another "
                     "file and rename it, and go on from a checkpoint");
}

llvm::Expected<std::unique_ptr<TrainingData>>
RowData::read(const std::string &path, const DataShape &shape) {
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  const TensorView *ids = file->find("input_ids");
  if (!ids || ids->shape.size() != 2)
    return llvm::createStringError(
        path + ": expected rows as 'input_ids' [rows, tokens]" +
        (ids ? ", got another number of dimensions" : ", got none"));
  int64_t rows = ids->shape[0];
  if (rows < shape.batch)
    return llvm::createStringError(
        path + ": a batch takes " + llvm::Twine(shape.batch) +
        " rows, but the file has " + llvm::Twine(rows) +
        "; make the program with a smaller --batch-size");
  for (const TensorView &view : file->tensors())
    if (!llvm::is_contained(known, view.name))
      return llvm::createStringError(
          path + ": no training takes '" + view.name + "'; " +
          (view.name == "cu_seqlens"
               ? "give the tokens of each document of a row as 'seq_lens'"
               : "leave it out (what no loss is asked of has the label "
                 "-100)"));
    else if (view.shape.size() != 2 ||
             (view.shape[0] != rows && !isShared(view)))
      return llvm::createStringError(
          path + ": '" + view.name +
          "' must have two dimensions, the first of " + llvm::Twine(rows) +
          " rows");
  std::unique_ptr<RowData> data(new RowData(shape, std::move(*file), rows));
  if (llvm::Error error = data->check())
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  return data;
}

/// The specs of what a batch takes, of so many rows.
static TensorSpec specOf(llvm::StringRef name, int64_t rows, int64_t length) {
  TensorSpec spec;
  spec.name = name.str();
  spec.dtype = DType::I32;
  spec.shape = {rows, length};
  return spec;
}

static llvm::Error checkIds(const HostTensor &tensor, int64_t vocabulary,
                            llvm::StringRef name, bool mayIgnore) {
  for (auto [i, value] : llvm::enumerate(tensor.asDoubles())) {
    auto token = int64_t(value);
    if (mayIgnore && token == ignored)
      continue;
    int64_t length = tensor.shape[1];
    if (auto wrong = outsideVocabulary(
            name.str() + ", row " + std::to_string(int64_t(i) / length) +
                ", token " + std::to_string(int64_t(i) % length),
            token, vocabulary))
      return llvm::createStringError(*wrong);
  }
  return llvm::Error::success();
}

/// All rows, so that none is found to be wrong at its step; some at a time, as
/// a batch is larger than the file that it is made of.
llvm::Error RowData::check() {
  int64_t most = std::max<int64_t>(1, (int64_t(1) << 20) / shape.length);
  for (int64_t first = 0; first < rows; first += most) {
    std::vector<int64_t> wanted(size_t(std::min(most, rows - first)));
    std::iota(wanted.begin(), wanted.end(), first);
    if (llvm::Error error = check(wanted)) {
      std::string where = rows <= most
                              ? ""
                              : "of the rows from " + std::to_string(first) +
                                    " on, counted from there: ";
      return llvm::createStringError(where + llvm::toString(std::move(error)));
    }
  }
  return llvm::Error::success();
}

llvm::Error RowData::check(ArrayRef<int64_t> wanted) {
  llvm::Expected<RowBatch> some = batchOf(wanted);
  if (!some)
    return some.takeError();
  if (llvm::Error error = some->checkPositions())
    return error;
  for (llvm::StringRef name : {"input_ids", "labels"}) {
    llvm::Expected<HostTensor> tensor =
        some->take(specOf(name, int64_t(wanted.size()), shape.length));
    if (!tensor)
      return tensor.takeError();
    if (llvm::Error error =
            checkIds(*tensor, shape.vocabulary, name, name == "labels"))
      return error;
  }
  return llvm::Error::success();
}

TensorView RowData::take(const TensorView &view, ArrayRef<int64_t> wanted,
                         std::vector<uint8_t> &memory) const {
  if (isShared(view))
    return view;
  size_t each = view.bytes.size() / size_t(rows);
  for (int64_t row : wanted)
    llvm::append_range(memory, view.bytes.slice(size_t(row) * each, each));
  TensorView taken = view;
  taken.shape[0] = int64_t(wanted.size());
  taken.bytes = memory;
  return taken;
}

llvm::Expected<RowBatch> RowData::batchOf(ArrayRef<int64_t> wanted) const {
  std::deque<std::vector<uint8_t>> memory;
  std::vector<TensorView> taken;
  for (const TensorView &view : file.tensors())
    taken.push_back(take(view, wanted, memory.emplace_back()));
  return RowBatch::make(
      taken, {int64_t(wanted.size()), shape.length, shape.documents});
}

llvm::Expected<Batch> RowData::at(int64_t number) {
  if (llvm::Error error = checkUnchanged())
    return error;
  std::vector<int64_t> wanted;
  for (int64_t row = 0; row < shape.batch; ++row)
    wanted.push_back(order.at(number * shape.batch + row));
  llvm::Expected<RowBatch> rowBatch = batchOf(wanted);
  if (!rowBatch)
    return rowBatch.takeError();
  Batch batch;
  if (llvm::Error error =
          rowBatch->take(specOf("input_ids", shape.batch, shape.length))
              .moveInto(batch.ids))
    return error;
  if (llvm::Error error =
          rowBatch->take(specOf("labels", shape.batch, shape.length))
              .moveInto(batch.labels))
    return error;
  if (!shape.documents)
    return batch;
  if (llvm::Error error =
          rowBatch->take(specOf("cu_seqlens", shape.batch, shape.documents + 1))
              .moveInto(batch.documents))
    return error;
  return batch;
}

} // namespace cp
