//===- TokenData.cpp - Tokens of a file, a batch at a time ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenData.h"

#include "cp/Files/Convert.h"
#include "cp/Files/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace cp {

static llvm::Expected<std::vector<int64_t>> readArray(const std::string &path) {
  llvm::Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  if (array->dtype != DType::I32 && array->dtype != DType::I64)
    return llvm::createStringError(path +
                                   ": token ids must be I32 or I64, "
                                   "but are " +
                                   dtypeName(array->dtype).str());
  auto bytes = convertElements(array->bytes, array->dtype, DType::I64, path);
  if (!bytes)
    return bytes.takeError();
  std::vector<int64_t> tokens(bytes->size() / sizeof(int64_t));
  std::memcpy(tokens.data(), bytes->data(), bytes->size());
  return tokens;
}

static llvm::Expected<std::vector<int64_t>>
readTokens(const std::string &path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".npy")
    return readArray(path);
  if (extension == ".ids")
    return readTokenIds(path);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  std::vector<int64_t> tokens;
  for (char c : (*buffer)->getBuffer())
    tokens.push_back(static_cast<uint8_t>(c));
  return tokens;
}

llvm::Expected<TokenData>
TokenData::read(const std::string &path, int64_t batch, int64_t length,
                int64_t vocabulary, std::optional<uint64_t> seed,
                std::optional<DocumentEnds> documents) {
  llvm::Expected<std::vector<int64_t>> tokens = readTokens(path);
  if (!tokens)
    return tokens.takeError();
  for (auto [i, token] : llvm::enumerate(*tokens))
    if (token < 0 || (vocabulary && token >= vocabulary))
      return llvm::createStringError(
          path + ": token number " + std::to_string(i) + " is " +
          std::to_string(token) + ", but the model's vocabulary has " +
          std::to_string(vocabulary) + " ids");
  if (documents &&
      (documents->token < 0 || (vocabulary && documents->token >= vocabulary)))
    return llvm::createStringError(
        "--document-end is " + std::to_string(documents->token) +
        ", but ids are from 0 to " +
        (vocabulary ? std::to_string(vocabulary - 1)
                    : "the vocabulary's last") +
        "; give the token behind which a document of the data ends");
  TokenData data;
  data.batch = batch;
  data.length = length;
  data.seed = seed;
  data.windows = std::max<int64_t>(int64_t(tokens->size()) - 1, 0) / length;
  if (data.windows < batch)
    return llvm::createStringError(
        path + ": a batch takes " + std::to_string(batch) + " times " +
        std::to_string(length) + " tokens and one more, but the file has " +
        std::to_string(tokens->size()) +
        "; import the model with a smaller --batch or --seq");
  data.tokens = std::move(*tokens);
  data.documents = documents;
  if (llvm::Error error = data.checkDocuments(path))
    return error;
  return data;
}

std::vector<int32_t> TokenData::documentsOf(int64_t window) const {
  std::vector<int32_t> ends = {0};
  for (int64_t i = 0; i < length; ++i)
    if (i + 1 == length || tokens[window * length + i] == documents->token)
      ends.push_back(static_cast<int32_t>(i + 1));
  return ends;
}

llvm::Error TokenData::checkDocuments(const std::string &path) const {
  int64_t most = 0, where = 0;
  for (int64_t window = 0; documents && window < windows; ++window)
    if (int64_t count = int64_t(documentsOf(window).size()) - 1; count > most) {
      most = count;
      where = window;
    }
  if (!documents || most <= documents->most)
    return llvm::Error::success();
  return llvm::createStringError(
      path + ": tokens " + std::to_string(where * length) + " to " +
      std::to_string((where + 1) * length - 1) + " are " +
      std::to_string(most) + " documents that end with " +
      std::to_string(documents->token) +
      ", but a row of the model has at most " +
      std::to_string(documents->most) +
      "; import it with --documents=" + std::to_string(most));
}

int64_t TokenData::windowAt(int64_t place) {
  int64_t pass = place / windows, number = place % windows;
  if (!seed)
    return number;
  if (pass != shuffledPass) {
    order.resize(size_t(windows));
    std::iota(order.begin(), order.end(), 0);
    // Fisher and Yates, by an engine whose numbers the standard fixes. What
    // the remainder prefers is less than one part in 2^32.
    std::seed_seq both{uint32_t(*seed), uint32_t(*seed >> 32), uint32_t(pass)};
    std::mt19937_64 engine(both);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[engine() % i]);
    shuffledPass = pass;
  }
  return order[size_t(number)];
}

Batch TokenData::at(int64_t number) {
  // What no loss is asked of: a document says nothing about the next one.
  constexpr int32_t ignored = -100;
  int64_t most = documents ? documents->most : 0;
  Batch result = {
      HostTensor::zeros(DType::I32, {batch, length}),
      HostTensor::zeros(DType::I32, {batch, length}),
      HostTensor::zeros(DType::I32, {documents ? batch : 0, most + 1})};
  auto *ids = reinterpret_cast<int32_t *>(result.ids.bytes.data());
  auto *labels = reinterpret_cast<int32_t *>(result.labels.bytes.data());
  auto *ends = reinterpret_cast<int32_t *>(result.documents.bytes.data());
  for (int64_t row = 0; row < batch; ++row) {
    int64_t window = windowAt(number * batch + row);
    for (int64_t i = 0; i < length; ++i) {
      int64_t token = tokens[window * length + i];
      bool isLast = documents && token == documents->token;
      *ids++ = static_cast<int32_t>(token);
      *labels++ = isLast
                      ? ignored
                      : static_cast<int32_t>(tokens[window * length + i + 1]);
    }
    if (!documents)
      continue;
    std::vector<int32_t> own = documentsOf(window);
    own.resize(size_t(most + 1), static_cast<int32_t>(length));
    ends = std::copy(own.begin(), own.end(), ends);
  }
  return result;
}

} // namespace cp
