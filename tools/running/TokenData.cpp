//===- TokenData.cpp - Tokens of a file, a batch at a time ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenData.h"

#include "ReadTokens.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace cp {

TokenData::TokenData(const DataShape &shape, std::vector<int64_t> tokens,
                     int64_t windows, int64_t documentEnd)
    : TrainingData(shape), tokens(std::move(tokens)), windows(windows),
      documentEnd(documentEnd), order(windows, shape.seed) {}

llvm::Expected<std::unique_ptr<TrainingData>>
TokenData::read(const std::string &path, const DataShape &shape,
                int64_t documentEnd) {
  llvm::Expected<std::vector<int64_t>> tokens = readTokens(path);
  if (!tokens)
    return tokens.takeError();
  for (auto [i, token] : llvm::enumerate(*tokens))
    if (auto wrong = outsideVocabulary("token number " + std::to_string(i),
                                       token, shape.vocabulary))
      return llvm::createStringError(path + ": " + *wrong);
  if (shape.documents && (documentEnd < 0 || (shape.vocabulary &&
                                              documentEnd >= shape.vocabulary)))
    return llvm::createStringError(
        "--document-end is " + std::to_string(documentEnd) +
        ", but ids are from 0 to " +
        (shape.vocabulary ? std::to_string(shape.vocabulary - 1)
                          : "the vocabulary's last") +
        "; give the token behind which a document of the data ends");
  int64_t windows =
      std::max<int64_t>(int64_t(tokens->size()) - 1, 0) / shape.length;
  if (windows < shape.batch)
    return llvm::createStringError(
        path + ": a batch takes " + std::to_string(shape.batch) + " times " +
        std::to_string(shape.length) +
        " tokens and one more, but the file has " +
        std::to_string(tokens->size()) +
        "; make the program with a smaller --batch-size or --seq");
  std::unique_ptr<TokenData> data(
      new TokenData(shape, std::move(*tokens), windows, documentEnd));
  if (llvm::Error error = data->checkDocuments(path))
    return error;
  return data;
}

std::vector<int32_t> TokenData::documentsOf(int64_t window) const {
  std::vector<int32_t> ends = {0};
  int64_t length = shape.length;
  for (int64_t i = 0; i < length; ++i)
    if (i + 1 == length || tokens[window * length + i] == documentEnd)
      ends.push_back(static_cast<int32_t>(i + 1));
  return ends;
}

llvm::Error TokenData::checkDocuments(const std::string &path) const {
  int64_t most = 0, where = 0;
  for (int64_t window = 0; shape.documents && window < windows; ++window)
    if (int64_t count = int64_t(documentsOf(window).size()) - 1; count > most) {
      most = count;
      where = window;
    }
  if (most <= shape.documents)
    return llvm::Error::success();
  int64_t length = shape.length;
  return llvm::createStringError(
      path + ": tokens " + std::to_string(where * length) + " to " +
      std::to_string((where + 1) * length - 1) + " are " +
      std::to_string(most) + " documents that end with " +
      std::to_string(documentEnd) + ", but a row of the model has at most " +
      std::to_string(shape.documents) +
      "; make the program with --documents=" + std::to_string(most));
}

llvm::Expected<Batch> TokenData::at(int64_t number) {
  // What no loss is asked of: a document says nothing about the next one.
  constexpr int32_t ignored = -100;
  int64_t batch = shape.batch, length = shape.length, most = shape.documents;
  Batch result = {HostTensor::zeros(DType::I32, {batch, length}),
                  HostTensor::zeros(DType::I32, {batch, length}),
                  HostTensor::zeros(DType::I32, {most ? batch : 0, most + 1})};
  auto *ids = reinterpret_cast<int32_t *>(result.ids.bytes.data());
  auto *labels = reinterpret_cast<int32_t *>(result.labels.bytes.data());
  auto *ends = reinterpret_cast<int32_t *>(result.documents.bytes.data());
  for (int64_t row = 0; row < batch; ++row) {
    int64_t window = order.at(number * batch + row);
    for (int64_t i = 0; i < length; ++i) {
      int64_t token = tokens[window * length + i];
      bool isLast = most && token == documentEnd;
      *ids++ = static_cast<int32_t>(token);
      *labels++ = isLast
                      ? ignored
                      : static_cast<int32_t>(tokens[window * length + i + 1]);
    }
    if (!most)
      continue;
    std::vector<int32_t> own = documentsOf(window);
    own.resize(size_t(most + 1), static_cast<int32_t>(length));
    ends = std::copy(own.begin(), own.end(), ends);
  }
  return result;
}

} // namespace cp
