//===- Training.cpp - The loss of a run and its gradients -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "Inputs.h"
#include "ReadTensors.h"

#include <cstring>

using llvm::ArrayRef;
using llvm::StringRef;

namespace cp {

bool isLabels(const TensorSpec &spec, const RunFlags &options) {
  return options.hasLoss && !spec.isParam && spec.name == "labels";
}

/// What no loss is asked of.
static constexpr int32_t ignored = -100;

/// `[batch, sequence]` of i32, of which each row becomes the next tokens.
static void shiftRows(HostTensor &ids) {
  int64_t length = ids.shape[1];
  auto *row = reinterpret_cast<int32_t *>(ids.bytes.data());
  for (int64_t b = 0; b < ids.shape[0]; ++b, row += length) {
    std::memmove(row, row + 1, static_cast<size_t>(length - 1) * sizeof *row);
    row[length - 1] = ignored;
  }
}

/// Takes the labels of the last tokens of documents: none says anything about
/// the next. What is no list of documents is refused when the program runs.
static void endDocuments(HostTensor &labels, const HostTensor &documents) {
  auto *row = reinterpret_cast<int32_t *>(labels.bytes.data());
  const auto *end = reinterpret_cast<const int32_t *>(documents.bytes.data());
  int64_t length = labels.shape[1], count = documents.shape[1];
  for (int64_t b = 0; b < labels.shape[0]; ++b, row += length)
    for (int64_t i = 0; i < count; ++i, ++end)
      if (*end > 0 && *end <= length)
        row[*end - 1] = ignored;
}

llvm::Expected<HostTensor> gatherLabels(const TensorSpec &labels,
                                        ArrayRef<TensorSpec> specs,
                                        ArrayRef<HostTensor> tensors,
                                        const RunFlags &options) {
  StringRef file = options.labels;
  if (!file.empty() && (!holdsOneTensor(file) || file.ends_with(".txt")))
    return llvm::createStringError(
        file +
        ": --labels takes ids as .npy or .ids; in a .safetensors file of "
        "--inputs they are the tensor 'labels'");
  if (!file.empty())
    return readSingle(options.tool, file, labels);
  for (auto [spec, tensor] : llvm::zip(specs, tensors)) {
    if (spec.isParam || spec.dtype != DType::I32 ||
        spec.shape != labels.shape || isLabels(spec, options) ||
        isDocuments(spec))
      continue;
    HostTensor next = tensor;
    shiftRows(next);
    for (auto [other, documents] : llvm::zip(specs, tensors))
      if (isDocuments(other) && other.shape[0] == labels.shape[0])
        endDocuments(next, documents);
    return next;
  }
  return llvm::createStringError(
      "the model takes no i32 ids of the labels' shape, so it cannot be told "
      "what comes next; give it by --labels");
}

static constexpr StringRef gradientPrefix = "grad.";

std::vector<TensorView> gradientsOf(ArrayRef<TensorSpec> specs,
                                    ArrayRef<HostTensor> results) {
  std::vector<TensorView> views;
  for (auto [spec, tensor] : llvm::zip_equal(specs, results))
    if (StringRef name = spec.name; name.consume_front(gradientPrefix))
      views.push_back({name.str(), tensor.dtype, tensor.shape, tensor.bytes});
  return views;
}

bool isGradient(const TensorSpec &spec) {
  return StringRef(spec.name).starts_with(gradientPrefix);
}

} // namespace cp
