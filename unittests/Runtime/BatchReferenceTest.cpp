//===- BatchReferenceTest.cpp - Drawn batches against formulas ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchSupport.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace cp::test;

namespace {

/// thd_get_partitioned_indices of TransformerEngine (context_parallel.cu,
/// thd_partition_indices_kernel): where token `local` of `rank` lies.
int64_t engineIndex(const Longs &cu, int64_t ranks, int64_t rank,
                    int64_t local) {
  size_t document = 0;
  while (cu[document + 1] / ranks <= local)
    ++document;
  int64_t length = (cu[document + 1] - cu[document]) / ranks;
  int64_t index = local - cu[document] / ranks;
  int64_t offset = index < length / 2 ? rank : (ranks - 1) * 2 - rank;
  return index + cu[document] / ranks * ranks + length / 2 * offset;
}

struct Drawn {
  std::mt19937_64 random;
  explicit Drawn(uint64_t seed) : random(seed) {}
  int64_t from(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
};

TEST(BatchReferenceTest, IndicesAreThoseOfTransformerEngine) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Drawn draw(seed);
    int64_t ranks = draw.from(2, 8), count = draw.from(1, 9);
    BatchOf batch(ranks, CPRT_BATCH_ZIGZAG, CPRT_BATCH_THD);
    batch.options.per_document = 1;
    Longs tokens, slots, cu = {0};
    for (int64_t i = 0; i < count; ++i) {
      slots.push_back(2 * ranks * draw.from(i == 0, 6));
      tokens.push_back(draw.from(0, slots.back()));
      cu.push_back(cu.back() + slots.back());
    }
    Longs ids(size_t(cu.back()));
    std::iota(ids.begin(), ids.end(), 100);
    batch.with("input_ids", {1, cu.back()}, ids)
        .with("seq_lens", {1, count}, tokens)
        .with("seq_lens_padded", {1, count}, slots);
    ASSERT_EQ(batch.create(), "");
    EXPECT_EQ(batch.take("cu_seqlens_padded"), cu);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Longs indices = batch.take("indices", rank);
      Longs part = batch.take("input_ids", rank);
      ASSERT_EQ(int64_t(indices.size()), cu.back() / ranks);
      for (int64_t i = 0; i < int64_t(indices.size()); ++i) {
        ASSERT_EQ(indices[size_t(i)], engineIndex(cu, ranks, rank, i));
        ASSERT_EQ(part[size_t(i)], ids[size_t(indices[size_t(i)])]);
      }
    }
    ASSERT_EQ(batch.gather("input_ids"), ids);
  }
}

/// A batch of anything, and what it was made of.
struct RandomBatch {
  BatchOf batch;
  int64_t rows, length, documents;
  Longs ids, tokens, slots;

  explicit RandomBatch(Drawn &draw)
      : batch(draw.from(1, 5), cprt_batch_order(draw.from(0, 2)),
              cprt_batch_format(draw.from(0, 1))),
        rows(draw.from(1, 4)), length(draw.from(1, 40)),
        documents(draw.from(1, 5)) {
    cprt_batch_options &options = batch.options;
    options.per_document = int32_t(draw.from(0, 1));
    options.pad_multiple = draw.from(0, 3);
    options.shift_labels = 1;
    options.padding_id = -7;
    if (options.order == CPRT_BATCH_STRIPED)
      options.unit = draw.from(0, 3);
    if (options.format == CPRT_BATCH_THD && rows % 2 == 0)
      options.chunks = draw.from(0, 2);
    // Numbers that differ, and say row and token.
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < length; ++i)
        ids.push_back(1000 * (row + 1) + i);
    drawDocuments(draw);
    batch.with("input_ids", {rows, length}, ids)
        .with("seq_lens", {rows, documents}, tokens);
    if (!options.per_document && draw.from(0, 1))
      batch.with("seq_lens_padded", {rows, documents}, slots);
    else
      slots = tokens;
  }

  void drawDocuments(Drawn &draw) {
    for (int64_t row = 0; row < rows; ++row) {
      int64_t left = length;
      for (int64_t i = 0; i < documents; ++i) {
        slots.push_back(draw.from(0, left));
        left -= slots.back();
        tokens.push_back(draw.from(0, slots.back()));
      }
    }
    // Without seq_lens_padded nothing is between them.
  }

  /// The label of each token by its number, told by the caller's rows alone.
  std::vector<std::pair<int64_t, int64_t>> labels() const {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t begin = row * length;
      for (int64_t i = 0; i < documents; ++i) {
        auto at = size_t(row * documents + i);
        for (int64_t j = 0; j < tokens[at]; ++j)
          all.push_back(
              {ids[size_t(begin + j)],
               j + 1 < tokens[at] ? ids[size_t(begin + j + 1)] : -100});
        begin += slots[at];
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST(BatchReferenceTest, EveryTokenIsSomewhereWithItsLabel) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Drawn draw(seed);
    RandomBatch drawn(draw);
    BatchOf &batch = drawn.batch;
    ASSERT_EQ(batch.create(), "");
    std::vector<std::pair<int64_t, int64_t>> seen;
    Longs counts(size_t(batch.info().length * batch.info().rows), 0);
    for (int64_t rank = 0; rank < batch.options.ranks; ++rank) {
      Longs ids = batch.take("input_ids", rank),
            labels = batch.take("labels", rank),
            mask = batch.take("padding_mask", rank),
            positions = batch.take("position_ids", rank),
            indices = batch.take("indices", rank);
      for (size_t i = 0; i < ids.size(); ++i) {
        int64_t row = int64_t(i) / batch.info().local_length;
        ++counts[size_t(row * batch.info().length + indices[i])];
        if (mask[i]) {
          ASSERT_EQ(labels[i], -100);
          continue;
        }
        seen.push_back({ids[i], labels[i]});
      }
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, drawn.labels());
    ASSERT_EQ(counts, Longs(counts.size(), 1));
    // What the batch dropped of its own padding comes back as 0.
    Longs back = batch.gather("input_ids");
    for (size_t i = 0; i < back.size(); ++i)
      ASSERT_TRUE(back[i] == drawn.ids[i] || back[i] == 0);
    for (const auto &[id, label] : seen)
      ASSERT_EQ(back[size_t((id / 1000 - 1) * drawn.length + id % 1000)], id);
  }
}

/// Documents lie where cu_seqlens_padded says, each with its places.
TEST(BatchReferenceTest, ListsSayWhereDocumentsLie) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Drawn draw(seed);
    RandomBatch drawn(draw);
    ASSERT_EQ(drawn.batch.create(), "");
    cprt_batch_info info = drawn.batch.info();
    Longs starts = drawn.batch.take("cu_seqlens_padded"),
          sums = drawn.batch.take("cu_seqlens"),
          mask = drawn.batch.take("padding_mask"),
          places = drawn.batch.take("position_ids");
    for (int64_t row = 0; row < info.rows; ++row) {
      auto line = size_t(row * (info.documents + 1));
      ASSERT_EQ(starts[line + size_t(info.documents)], info.length);
      for (size_t i = line; i < line + size_t(info.documents); ++i)
        for (int64_t at = starts[i]; at < starts[i + 1]; ++at) {
          auto place = size_t(row * info.length + at);
          ASSERT_EQ(places[place], at - starts[i]);
          ASSERT_EQ(mask[place], at - starts[i] >= sums[i + 1] - sums[i]);
        }
    }
  }
}

} // namespace
