//===- Batch.cpp - The C interface of batches -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include "Core/CText.h"

#include <algorithm>
#include <memory>

using namespace cp;
using namespace cp::batch;
using cp::runtime::reportToC;

struct cprt_batch {
  Stream stream;
  Tensors tensors;
  cprt_batch_format format = CPRT_BATCH_BSHD;
};

static Failure invalid(std::string text) {
  return {CPRT_INVALID_ARGUMENT, std::move(text)};
}

static Error make(const cprt_batch_options *given,
                  const cprt_batch_tensor *tensors, size_t count,
                  cprt_batch &batch) {
  Options options;
  if (Error failure = readOptions(given, options))
    return failure;
  Fields fields;
  if (Error failure = readFields(tensors, count, fields))
    return failure;
  Documents documents;
  if (Error failure = readDocuments(fields, options, documents))
    return failure;
  if (Error failure = makeStream(fields, documents, options, batch.stream))
    return failure;
  if (Error failure = makeTensors(fields, batch.stream, options, batch.tensors))
    return failure;
  finishTokens(batch.stream, options, batch.tensors);
  describeRows(batch.stream, batch.tensors);
  batch.format = options.packs ? CPRT_BATCH_THD : CPRT_BATCH_BSHD;
  return std::nullopt;
}

extern "C" cprt_status cprt_batch_create(const cprt_batch_options *options,
                                         const cprt_batch_tensor *tensors,
                                         size_t count, cprt_batch **batch,
                                         char *message, size_t capacity) {
  if (batch)
    *batch = nullptr;
  return reportToC("batch_create", message, capacity, [&]() -> Error {
    if (!batch)
      return invalid("the place for the batch is null");
    auto made = std::make_unique<cprt_batch>();
    if (Error failure = make(options, tensors, count, *made))
      return failure;
    *batch = made.release();
    return std::nullopt;
  });
}

extern "C" void cprt_batch_destroy(cprt_batch *batch) { delete batch; }

extern "C" void cprt_batch_describe(const cprt_batch *batch,
                                    cprt_batch_info *info) {
  if (!info)
    return;
  *info = {};
  if (!batch)
    return;
  const Stream &stream = batch->stream;
  info->original_rows = stream.originalRows;
  info->original_length = stream.originalLength;
  info->rows = stream.rows;
  info->length = stream.length;
  info->local_length = stream.localLength;
  info->documents = stream.capacity;
  for (const std::vector<Document> &row : stream.documents)
    for (const Document &document : row)
      info->padding += document.slots - document.tokens;
  info->format = batch->format;
}

extern "C" size_t cprt_batch_names(const cprt_batch *batch, const char **names,
                                   size_t capacity) {
  size_t at = 0;
  if (!batch)
    return at;
  for (const auto &[name, stored] : batch->tensors) {
    if (at < capacity)
      names[at] = name.c_str();
    ++at;
  }
  return at;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// A result that is about to be written.
namespace {
struct Result {
  cprt_batch_tensor tensor = {};
  size_t bytes = 0;
};
} // namespace

static Result resultOf(const char *name, cprt_dtype dtype,
                       const std::vector<int64_t> &shape, int sequenceDim) {
  Result result;
  result.tensor.name = name;
  result.tensor.dtype = dtype;
  result.tensor.rank = int32_t(shape.size());
  result.tensor.sequence_dim = sequenceDim;
  result.bytes = cprt_dtype_size(dtype);
  for (size_t i = 0; i < shape.size(); ++i) {
    result.tensor.shape[i] = shape[i];
    result.bytes *= size_t(shape[i]);
  }
  return result;
}

/// Describes it; whether there is something to write is `writes`.
static Error deliver(const Result &result, cprt_batch_tensor *described,
                     const void *data, size_t bytes, bool &writes) {
  if (described)
    *described = result.tensor;
  writes = data;
  if (data && bytes != result.bytes)
    return invalid("there are " + std::to_string(bytes) +
                   " bytes for the result, which has " +
                   std::to_string(result.bytes) +
                   "; ask for its shape with null in place of data");
  return std::nullopt;
}

static Error checkRank(const cprt_batch *batch, int64_t rank) {
  if (!batch)
    return invalid("the batch is null");
  const Stream &stream = batch->stream;
  if (rank >= CPRT_BATCH_WHOLE && rank < stream.ranks)
    return std::nullopt;
  return invalid("the rank is " + std::to_string(rank) + ", expected 0 to " +
                 std::to_string(stream.ranks - 1) +
                 ", or CPRT_BATCH_WHOLE (-1)");
}

static std::string nameList(const Tensors &tensors) {
  std::string text;
  for (const auto &[name, stored] : tensors)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The padded rows of a tensor of tokens, or what a rank holds of them.
static Error deliverPart(const Stream &stream, const Stored &stored,
                         const char *name, int64_t rank,
                         cprt_batch_tensor *part, void *data, size_t bytes) {
  std::vector<int64_t> shape = stored.shape;
  bool isCut = stored.sequenceDim >= 0 && rank != CPRT_BATCH_WHOLE;
  if (isCut)
    shape[size_t(stored.sequenceDim)] = stream.localLength;
  bool writes = false;
  if (Error failure =
          deliver(resultOf(name, stored.dtype, shape, stored.sequenceDim), part,
                  data, bytes, writes))
    return failure;
  if (!writes)
    return std::nullopt;
  if (!isCut) {
    std::copy(stored.bytes.begin(), stored.bytes.end(),
              static_cast<char *>(data));
    return std::nullopt;
  }
  Result whole = resultOf(name, stored.dtype, stored.shape, -1);
  View view;
  if (Error failure = viewOf(whole.tensor, stored.sequenceDim, stream.rows,
                             stream.length, stream.isUniform, name, view))
    return failure;
  takePart(stream, view, stored.bytes.data(), rank, static_cast<char *>(data));
  return std::nullopt;
}

extern "C" cprt_status cprt_batch_get(const cprt_batch *batch, const char *name,
                                      int64_t rank, cprt_batch_tensor *part,
                                      void *data, size_t bytes, char *message,
                                      size_t capacity) {
  return reportToC("batch_get", message, capacity, [&]() -> Error {
    if (Error failure = checkRank(batch, rank))
      return failure;
    auto found = batch->tensors.find(std::string_view(name ? name : ""));
    if (found == batch->tensors.end())
      return invalid("there is no '" + std::string(name ? name : "") +
                     "' in the batch; it has " + nameList(batch->tensors));
    return deliverPart(batch->stream, found->second, found->first.c_str(), rank,
                       part, data, bytes);
  });
}

static Error checkSequence(const cprt_batch_tensor *tensor,
                           const std::string &name, bool needsData) {
  if (!tensor)
    return invalid(name + " is null");
  if (Error failure = checkTensor(*tensor, name, needsData))
    return failure;
  if (tensor->sequence_dim >= 0 && tensor->sequence_dim < tensor->rank)
    return std::nullopt;
  return refuse(2, describe(name, *tensor) + " has no dimension " +
                       std::to_string(tensor->sequence_dim) +
                       ", its sequence_dim");
}

extern "C" cprt_status cprt_batch_split(const cprt_batch *batch,
                                        const cprt_batch_tensor *whole,
                                        int64_t rank, cprt_batch_tensor *part,
                                        void *data, size_t bytes, char *message,
                                        size_t capacity) {
  return reportToC("batch_split", message, capacity, [&]() -> Error {
    if (Error failure = checkRank(batch, rank))
      return failure;
    const Stream &stream = batch->stream;
    if (Error failure = checkSequence(whole, "the tensor", /*needsData=*/data))
      return failure;
    Field field = {"the tensor", whole, whole->sequence_dim};
    Stored stored;
    View view;
    Error failure = data ? pad(field, stream, Options(), stored)
                         : outline(field, stream, stored, view);
    if (failure)
      return failure;
    return deliverPart(stream, stored, "", rank, part, data, bytes);
  });
}

/// The parts of all ranks are of one type and shape.
static Error checkParts(const Stream &stream, const cprt_batch_tensor *parts,
                        bool needsData) {
  if (Error failure = checkSequence(parts, "the part of rank 0", needsData))
    return failure;
  for (int64_t rank = 1; rank < stream.ranks; ++rank) {
    std::string name = "the part of rank " + std::to_string(rank);
    if (Error failure = checkTensor(parts[rank], name, needsData))
      return failure;
    if (parts[rank].dtype != parts->dtype || parts[rank].rank != parts->rank ||
        !std::equal(parts->shape, parts->shape + parts->rank,
                    parts[rank].shape))
      return refuse(3, describe(name, parts[rank]) + " and " +
                           describe("that of rank 0", *parts) +
                           " are not of one type and shape");
  }
  return std::nullopt;
}

static void putTogether(const Stream &stream, const View &view,
                        const cprt_batch_tensor *parts, bool keepsPadding,
                        char *whole) {
  std::vector<char> memory;
  char *padded = whole;
  if (!keepsPadding) {
    memory.resize(size_t(view.outer * view.rows * stream.length * view.bytes));
    padded = memory.data();
  }
  for (int64_t rank = 0; rank < stream.ranks; ++rank)
    putPart(stream, view, static_cast<const char *>(parts[rank].data), rank,
            padded);
  if (!keepsPadding)
    unpadRows(stream, view, padded, whole);
}

extern "C" cprt_status
cprt_batch_gather(const cprt_batch *batch, const cprt_batch_tensor *parts,
                  int32_t keep_padding, cprt_batch_tensor *whole, void *data,
                  size_t bytes, char *message, size_t capacity) {
  return reportToC("batch_gather", message, capacity, [&]() -> Error {
    if (!batch)
      return invalid("the batch is null");
    const Stream &stream = batch->stream;
    if (Error failure = checkParts(stream, parts, /*needsData=*/data))
      return failure;
    View view;
    int dim = parts->sequence_dim;
    if (Error failure = viewOf(*parts, dim, stream.rows, stream.localLength,
                               stream.isUniform, "the part of rank 0", view))
      return failure;
    for (int64_t tokens : {stream.length, originalTokens(stream)})
      if (Error failure = checkSize(view, tokens, "the whole tensor"))
        return failure;
    std::vector<int64_t> shape =
        keep_padding ? shapeWith(*parts, dim, stream.rows, stream.length,
                                 stream.isUniform)
                     : shapeWith(*parts, dim, stream.originalRows,
                                 stream.originalLength, stream.isUniform);
    Result result = resultOf("", parts->dtype, shape, dim);
    bool writes = false;
    if (Error failure = deliver(result, whole, data, bytes, writes))
      return failure;
    if (!writes)
      return std::nullopt;
    putTogether(stream, view, parts, keep_padding, static_cast<char *>(data));
    return std::nullopt;
  });
}
