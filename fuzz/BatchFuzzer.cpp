//===- BatchFuzzer.cpp - Any rows as a batch, cut and gathered ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options and tensors are drawn from the bytes; what is refused must say why,
// and what is taken must come back from its parts.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cp/Runtime/cprt_batch.h"

#include <cstring>
#include <deque>
#include <fuzzer/FuzzedDataProvider.h>
#include <vector>

using cp::fuzz::require;

namespace {

constexpr const char *names[] = {
    "input_ids",       "inputs_embeds", "labels",   "loss_mask",
    "position_ids",    "padding_mask",  "seq_lens", "attention_mask",
    "seq_lens_padded", "teacher"};

class Drawn {
public:
  Drawn(const uint8_t *data, size_t size) : bytes(data, size) {}

  cprt_batch_options options() {
    cprt_batch_options options = {};
    options.struct_size = sizeof(options);
    options.ranks = number(1, 9);
    options.order = cprt_batch_order(number(0, 2));
    options.format = cprt_batch_format(number(0, 1));
    options.unit = number(0, 4);
    options.per_document = int32_t(number(0, 1));
    options.pad_multiple = number(0, 5);
    // Longer rows take more memory than a fuzzer has.
    options.length =
        bytes.ConsumeBool() ? 0 : bytes.ConsumeIntegralInRange(-9, 200);
    options.chunks = number(0, 3);
    options.documents = bytes.ConsumeIntegralInRange(-3, 20);
    options.padding_id = number(0, 3);
    options.sentinel = number(-9, 0);
    options.shift_labels = int32_t(number(0, 1));
    return options;
  }

  /// A few rows of a few tokens, mostly.
  std::vector<cprt_batch_tensor> tensors() {
    std::vector<cprt_batch_tensor> all;
    rows = number(1, 4);
    tokens = number(1, 12);
    for (int64_t count = bytes.ConsumeIntegralInRange(0, 6); count-- > 0;)
      all.push_back(tensor());
    return all;
  }

private:
  FuzzedDataProvider bytes;
  std::deque<std::vector<uint8_t>> memory;
  int64_t rows = 1, tokens = 1;

  /// In the range, but for one of 32, which is anything.
  int64_t number(int64_t least, int64_t most) {
    if (bytes.ConsumeIntegralInRange(0, 31) == 31)
      return bytes.ConsumeIntegral<int64_t>();
    return bytes.ConsumeIntegralInRange(least, most);
  }

  cprt_batch_tensor tensor() {
    cprt_batch_tensor tensor = {};
    tensor.name = bytes.PickValueInArray(names);
    // Any number, which only the library may read as a type.
    auto type = int(number(0, 4));
    std::memcpy(&tensor.dtype, &type, sizeof(type));
    tensor.rank = int32_t(bytes.ConsumeIntegralInRange(0, 4));
    tensor.sequence_dim = int32_t(bytes.ConsumeIntegralInRange(-1, 4));
    for (int i = 0; i < tensor.rank; ++i) {
      int64_t kinds[] = {rows, tokens, number(0, 5)};
      tensor.shape[i] = kinds[bytes.ConsumeIntegralInRange(0, 2)];
    }
    fill(tensor,
         type >= 0 && type <= 4 ? cprt_dtype_size(cprt_dtype(type)) : 8);
    return tensor;
  }

  /// Small numbers, as lengths and masks have, of tensors that fit in memory.
  void fill(cprt_batch_tensor &tensor, size_t each) {
    size_t size = each;
    for (int i = 0; i < tensor.rank; ++i) {
      if (tensor.shape[i] < 0 || tensor.shape[i] > 4096)
        return;
      size *= size_t(tensor.shape[i]);
      if (size > 1 << 16)
        return;
    }
    memory.emplace_back(size);
    bool isWide = bytes.ConsumeIntegralInRange(0, 15) == 0;
    for (size_t at = 0; at < size; at += isWide ? 1 : each)
      memory.back()[at] =
          uint8_t(bytes.ConsumeIntegralInRange(0, 255) & (isWide ? 255 : 7));
    tensor.data = memory.back().data();
  }
};

std::vector<char> take(const cprt_batch *batch, const char *name, int64_t rank,
                       cprt_batch_tensor &part) {
  char why[512];
  bool described = cprt_batch_get(batch, name, rank, &part, nullptr, 0, why,
                                  sizeof(why)) == CPRT_OK;
  require(described, why);
  size_t size = cprt_dtype_size(part.dtype);
  for (int i = 0; i < part.rank; ++i)
    size *= size_t(part.shape[i]);
  // Never null, which asks for nothing.
  std::vector<char> data(size + 1);
  require(cprt_batch_get(batch, name, rank, nullptr, data.data(), size, why,
                         sizeof(why)) == CPRT_OK,
          why);
  data.pop_back();
  return data;
}

/// The parts of all ranks are the padded rows again.
void checkParts(const cprt_batch *batch, const char *name, int64_t ranks) {
  cprt_batch_tensor whole;
  std::vector<char> expected = take(batch, name, CPRT_BATCH_WHOLE, whole);
  if (whole.sequence_dim < 0)
    return;
  std::vector<std::vector<char>> memory;
  std::vector<cprt_batch_tensor> parts{size_t(ranks)};
  for (int64_t rank = 0; rank < ranks; ++rank) {
    memory.push_back(take(batch, name, rank, parts[size_t(rank)]));
    parts[size_t(rank)].data = memory.back().data();
  }
  char why[512];
  std::vector<char> gathered(expected.size() + 1);
  require(cprt_batch_gather(batch, parts.data(), /*keep_padding=*/1, nullptr,
                            gathered.data(), expected.size(), why,
                            sizeof(why)) == CPRT_OK,
          why);
  gathered.pop_back();
  require(gathered == expected, "parts are not what they are of");
  require(cprt_batch_gather(batch, parts.data(), /*keep_padding=*/0, &whole,
                            nullptr, 0, why, sizeof(why)) == CPRT_OK,
          why);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Drawn drawn(data, size);
  cprt_batch_options options = drawn.options();
  std::vector<cprt_batch_tensor> tensors = drawn.tensors();
  char why[512];
  cprt_batch *batch = nullptr;
  cprt_status status = cprt_batch_create(
      &options, tensors.data(), tensors.size(), &batch, why, sizeof(why));
  require((status == CPRT_OK) == (batch != nullptr), "a batch and an error");
  if (status != CPRT_OK) {
    require(status == CPRT_OUT_OF_MEMORY ||
                llvm::StringRef(why).contains("batch_c"),
            "refused without a reason");
    return 0;
  }
  const char *all[32];
  size_t count = cprt_batch_names(batch, all, 32);
  for (size_t i = 0; i < count; ++i)
    checkParts(batch, all[i], options.ranks);
  cprt_batch_destroy(batch);
  return 0;
}
