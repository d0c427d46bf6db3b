//===- RowBatch.cpp - Rows of any length for a program --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/RowBatch.h"

#include "cp/Execution/RuntimeType.h"
#include "cp/Files/Convert.h"
#include "cp/Runtime/cprt_batch.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace cp;
using llvm::ArrayRef;
using llvm::StringRef;

void RowBatch::Destroy::operator()(cprt_batch *batch) const {
  cprt_batch_destroy(batch);
}

/// The type that holds a file's numbers in a batch.
static DType batchType(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::BF16:
  case DType::I32:
  case DType::I64:
    return dtype;
  case DType::F16:
  case DType::F32:
    return DType::F32;
  default:
    return DType::I64;
  }
}

static bool isRows(const TensorSpec &spec) {
  return !spec.isParam && !spec.isState && spec.shape.size() >= 2;
}

const TensorSpec *RowBatch::tokensOf(ArrayRef<TensorSpec> specs) {
  const TensorSpec *tokens = nullptr;
  for (const TensorSpec &spec : specs)
    if (isRows(spec) && spec.name != "cu_seqlens" &&
        (!tokens || spec.name == "input_ids"))
      tokens = &spec;
  return tokens;
}

std::optional<RowBatch::Shape> RowBatch::shapeFor(ArrayRef<TensorSpec> specs) {
  const TensorSpec *tokens = tokensOf(specs);
  if (!tokens)
    return std::nullopt;
  Shape shape = {tokens->shape[0], tokens->shape[1], 0};
  for (const TensorSpec &spec : specs)
    if (isRows(spec) && spec.name == "cu_seqlens")
      shape.documents = spec.shape[1] - 1;
  return shape;
}

/// The elements in the type that a batch has for them. Masks are mostly bool.
static llvm::Expected<Bytes> inBatchType(const TensorView &view) {
  DType dtype = batchType(view.dtype);
  if (view.dtype == DType::Bool) {
    Bytes wide(view.bytes.size() * sizeof(int64_t));
    for (size_t i = 0; i < view.bytes.size(); ++i)
      wide[i * sizeof(int64_t)] = view.bytes[i]; // little-endian, as files are
    return wide;
  }
  if (!isConvertible(view.dtype, dtype))
    return llvm::createStringError("'" + view.name + "' is of the type " +
                                   dtypeName(view.dtype) +
                                   ", which no batch has; convert it to I64");
  return convertElements(view.bytes, view.dtype, dtype, view.name);
}

namespace {
/// Tensors in the form of the C interface, and the memory of converted ones.
struct CTensors {
  std::vector<cprt_batch_tensor> list;
  std::deque<Bytes> converted;

  llvm::Error add(const TensorView &view) {
    if (view.shape.size() > CPRT_BATCH_MAX_RANK)
      return llvm::createStringError(
          "'" + view.name + "' has " + llvm::Twine(view.shape.size()) +
          " dimensions, expected at most " + llvm::Twine(CPRT_BATCH_MAX_RANK));
    cprt_batch_tensor tensor = {};
    tensor.name = view.name.c_str();
    tensor.dtype = toRuntimeType(batchType(view.dtype));
    tensor.rank = int32_t(view.shape.size());
    llvm::copy(view.shape, tensor.shape);
    tensor.sequence_dim = 1;
    tensor.data = view.bytes.data();
    if (batchType(view.dtype) != view.dtype) {
      llvm::Expected<Bytes> bytes = inBatchType(view);
      if (!bytes)
        return bytes.takeError();
      converted.push_back(std::move(*bytes));
      tensor.data = converted.back().data();
    }
    list.push_back(tensor);
    return llvm::Error::success();
  }
};
} // namespace

static int64_t rowsOf(ArrayRef<TensorView> tensors) {
  for (const TensorView &view : tensors)
    if (view.name == "input_ids" || view.name == "inputs_embeds" ||
        view.name == "seq_lens")
      return view.shape.empty() ? 0 : view.shape[0];
  return tensors.empty() || tensors[0].shape.empty() ? 0 : tensors[0].shape[0];
}

/// The integers of one of a batch's own lists.
static std::vector<int32_t> listOf(const cprt_batch *batch, const char *name) {
  cprt_batch_tensor described;
  cprt_batch_get(batch, name, CPRT_BATCH_WHOLE, &described, nullptr, 0, nullptr,
                 0);
  std::vector<int32_t> list(size_t(described.shape[0] * described.shape[1]));
  cprt_batch_get(batch, name, CPRT_BATCH_WHOLE, nullptr, list.data(),
                 list.size() * sizeof(int32_t), nullptr, 0);
  return list;
}

std::vector<std::vector<RowBatch::Document>> RowBatch::documents() const {
  cprt_batch_info info;
  cprt_batch_describe(batch.get(), &info);
  std::vector<int32_t> sums = listOf(batch.get(), "cu_seqlens");
  std::vector<int32_t> starts = listOf(batch.get(), "cu_seqlens_padded");
  std::vector<std::vector<Document>> rows{size_t(info.rows)};
  for (size_t row = 0; row < rows.size(); ++row)
    for (int64_t i = 0; i < info.documents; ++i) {
      size_t at = row * size_t(info.documents + 1) + size_t(i);
      if (starts[at] < starts[at + 1])
        rows[row].push_back(
            {starts[at], sums[at + 1] - sums[at], starts[at + 1] - starts[at]});
    }
  return rows;
}

/// A program without lists sees a row as one document from its first token on.
static llvm::Error
checkOneDocument(ArrayRef<std::vector<RowBatch::Document>> rows) {
  for (auto [row, documents] : llvm::enumerate(rows)) {
    auto isReal = [](const RowBatch::Document &document) {
      return document.tokens > 0;
    };
    int64_t count = llvm::count_if(documents, isReal);
    int64_t begin = count ? llvm::find_if(documents, isReal)->begin : 0;
    if (count > 1 || begin > 0)
      return llvm::createStringError(
          "row " + llvm::Twine(row) + " of the program " +
          (count > 1
               ? "holds " + llvm::Twine(count) + " documents"
               : "begins with " + llvm::Twine(begin) + " places of padding") +
          ", but the program takes no cu_seqlens, and would read it all as one "
          "document; make the program with --documents=" +
          llvm::Twine(documents.size()));
  }
  return llvm::Error::success();
}

/// What an option of the C interface is to who imports a model.
static std::string forImporters(StringRef message, int64_t given,
                                RowBatch::Shape shape) {
  if (message.contains("batch_c7"))
    return "the model has " + std::to_string(shape.rows) +
           " rows, which do not divide the " + std::to_string(given) +
           " that there are; make the program with --batch-size=" +
           std::to_string(given) + ", or give a multiple of its rows";
  if (message.contains("batch_c6"))
    return message.str() + ": make the program with a larger --seq";
  if (message.contains("batch_c8"))
    return message.str() + " as --documents";
  return message.str();
}

llvm::Expected<RowBatch> RowBatch::make(ArrayRef<TensorView> tensors,
                                        Shape shape) {
  CTensors given;
  bool hasLabels = false;
  for (const TensorView &view : tensors) {
    hasLabels |= view.name == "labels";
    if (llvm::Error error = given.add(view))
      return error;
  }
  cprt_batch_options options = {};
  options.struct_size = sizeof(options);
  options.ranks = 1;
  options.length = shape.length;
  options.documents = shape.documents;
  options.shift_labels = !hasLabels;
  if (rowsOf(tensors) != shape.rows) {
    options.format = CPRT_BATCH_THD;
    options.chunks = shape.rows;
  }
  char message[1024];
  cprt_batch *made = nullptr;
  if (cprt_batch_create(&options, given.list.data(), given.list.size(), &made,
                        message, sizeof(message)) != CPRT_OK)
    return llvm::createStringError(
        forImporters(message, rowsOf(tensors), shape));
  RowBatch result;
  result.batch.reset(made);
  if (!shape.documents)
    if (llvm::Error error = checkOneDocument(result.documents()))
      return error;
  return result;
}

/// What a program takes as a list of documents lies in memory.
static StringRef nameInBatch(StringRef name) {
  return name == "cu_seqlens" ? "cu_seqlens_padded" : name;
}

static HostTensor emptyOf(const cprt_batch_tensor &described) {
  return HostTensor::zeros(
      *fromRuntimeType(described.dtype),
      std::vector<int64_t>(described.shape, described.shape + described.rank));
}

llvm::Expected<HostTensor> RowBatch::take(const TensorSpec &spec) const {
  char message[1024];
  std::string name = nameInBatch(spec.name).str();
  cprt_batch_tensor described;
  if (cprt_batch_get(batch.get(), name.c_str(), CPRT_BATCH_WHOLE, &described,
                     nullptr, 0, message, sizeof(message)) != CPRT_OK)
    return llvm::createStringError(message);
  HostTensor tensor = emptyOf(described);
  if (tensor.shape != spec.shape)
    return llvm::createStringError(
        "'" + spec.name + "' is " + shapeText(tensor.shape) +
        " in the batch, but the program takes " + shapeText(spec.shape));
  if (cprt_batch_get(batch.get(), name.c_str(), CPRT_BATCH_WHOLE, nullptr,
                     tensor.bytes.data(), tensor.bytes.size(), message,
                     sizeof(message)) != CPRT_OK)
    return llvm::createStringError(message);
  if (tensor.dtype == spec.dtype)
    return tensor;
  if (!isConvertible(tensor.dtype, spec.dtype))
    return llvm::createStringError(
        "'" + spec.name + "' is " + dtypeName(tensor.dtype) +
        " in the batch, but the program takes " + dtypeName(spec.dtype));
  llvm::Expected<Bytes> bytes =
      convertElements(tensor.bytes, tensor.dtype, spec.dtype, spec.name);
  if (!bytes)
    return bytes.takeError();
  tensor.dtype = spec.dtype;
  tensor.bytes = std::move(*bytes);
  return tensor;
}

llvm::Error RowBatch::checkPositions() const {
  cprt_batch_tensor described;
  cprt_batch_get(batch.get(), "position_ids", CPRT_BATCH_WHOLE, &described,
                 nullptr, 0, nullptr, 0);
  HostTensor positions = emptyOf(described);
  cprt_batch_get(batch.get(), "position_ids", CPRT_BATCH_WHOLE, nullptr,
                 positions.bytes.data(), positions.bytes.size(), nullptr, 0);
  std::vector<double> places = positions.asDoubles();
  auto length = size_t(described.shape[described.rank - 1]);
  std::vector<std::vector<Document>> rows = documents();
  for (size_t line = 0; line < places.size() / length; ++line)
    for (auto [i, document] : llvm::enumerate(rows[line % rows.size()]))
      for (int64_t j = 0; j < document.tokens; ++j)
        if (double got = places[line * length + size_t(document.begin + j)];
            got != double(j))
          return llvm::createStringError(
              "position_ids, row " + llvm::Twine(line % rows.size()) +
              " of the program: token " + llvm::Twine(j) + " of document " +
              llvm::Twine(i) + " is at " + llvm::Twine(int64_t(got)) +
              ", but the program counts them from 0 in each document; leave "
              "position_ids out, or say by seq_lens where documents are");
  return llvm::Error::success();
}

HostTensor RowBatch::trim(const HostTensor &result) const {
  cprt_batch_info info;
  cprt_batch_describe(batch.get(), &info);
  cprt_dtype dtype = toRuntimeType(result.dtype);
  bool isOfTokens = result.shape.size() >= 2 &&
                    result.shape.size() <= CPRT_BATCH_MAX_RANK &&
                    result.shape[0] == info.rows &&
                    result.shape[1] == info.length && dtype != CPRT_ABSENT;
  if (!isOfTokens)
    return result;
  cprt_batch_tensor part = {}, whole = {};
  part.name = "result";
  part.dtype = dtype;
  part.rank = int32_t(result.shape.size());
  llvm::copy(result.shape, part.shape);
  part.sequence_dim = 1;
  part.data = result.bytes.data();
  if (cprt_batch_gather(batch.get(), &part, /*keep_padding=*/0, &whole, nullptr,
                        0, nullptr, 0) != CPRT_OK)
    return result;
  HostTensor trimmed = emptyOf(whole);
  if (cprt_batch_gather(batch.get(), &part, /*keep_padding=*/0, nullptr,
                        trimmed.bytes.data(), trimmed.bytes.size(), nullptr,
                        0) != CPRT_OK)
    return result;
  return trimmed;
}
