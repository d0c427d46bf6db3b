//===- TrainingData.cpp - What a run trains on ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingData.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <numeric>
#include <random>

namespace cp {

std::string digestOf(const Batch &batch) {
  std::vector<uint8_t> bytes;
  auto add = [&](llvm::ArrayRef<uint8_t> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  auto bytesOf = [](const HostTensor &tensor) {
    return llvm::ArrayRef(
        reinterpret_cast<const uint8_t *>(tensor.bytes.data()),
        tensor.bytes.size());
  };
  add(bytesOf(batch.ids));
  add(bytesOf(batch.labels));
  // The rest of a list repeats its last end, as often as a model has room.
  const HostTensor &documents = batch.documents;
  size_t rows = documents.shape.empty() ? 0 : size_t(documents.shape[0]);
  for (size_t row = 0; row < rows; ++row) {
    size_t size = documents.bytes.size() / rows;
    llvm::ArrayRef<uint8_t> list = bytesOf(documents).slice(row * size, size);
    constexpr size_t entry = sizeof(int32_t);
    while (list.size() > entry &&
           list.take_back(entry) == list.drop_back(entry).take_back(entry))
      list = list.drop_back(entry);
    add(list);
  }
  return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, 16);
}

int64_t PassOrder::at(int64_t place) {
  int64_t pass = place / count, number = place % count;
  if (!seed)
    return number;
  if (pass != shuffledPass) {
    order.resize(size_t(count));
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

} // namespace cp
