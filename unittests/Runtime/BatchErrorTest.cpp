//===- BatchErrorTest.cpp - What batches refuse ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several of these are silent in systems that are in use: a test is named after
// what one of them does with such a batch.
//
//===----------------------------------------------------------------------===//

#include "BatchSupport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace cp::test;
using testing::HasSubstr;

namespace {

BatchOf rowsOf(int64_t rows, int64_t length) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.with("input_ids", {rows, length}, Longs(size_t(rows * length), 7));
  return batch;
}

BatchOf packed(int64_t rows, int64_t length) {
  BatchOf batch = rowsOf(rows, length);
  batch.options.format = CPRT_BATCH_THD;
  return batch;
}

TEST(BatchErrorTest, Options) {
  struct Row {
    const char *message;
    void (*change)(cprt_batch_options &);
  } rows[] = {
      {"batch_c1: the option ranks is 0, expected 1 to 65536",
       [](cprt_batch_options &o) { o.ranks = 0; }},
      {"batch_c1: the option order (a cprt_batch_order) is 3",
       [](cprt_batch_options &o) { o.order = cprt_batch_order(3); }},
      {"batch_c1: the option format (a cprt_batch_format: bshd or thd) is 2",
       [](cprt_batch_options &o) { o.format = cprt_batch_format(2); }},
      {"batch_c1: the option unit is 2, but only the striped order has runs",
       [](cprt_batch_options &o) { o.unit = 2; }},
      {"batch_c1: the option chunks is 2, but only the format thd packs",
       [](cprt_batch_options &o) { o.chunks = 2; }},
      {"batch_c1: the option pad_multiple is -1",
       [](cprt_batch_options &o) { o.pad_multiple = -1; }},
      {"batch_c1: the option sentinel is 5, which is a length",
       [](cprt_batch_options &o) { o.sentinel = 5; }},
      {"batch_c6: the option length is 10, which order and pad_multiple do not "
       "cut for 2 ranks; take a multiple of 4",
       [](cprt_batch_options &o) { o.length = 10; }},
      {"batch_c6: row 0 of the result takes 5 places, but the option length is "
       "4; give a larger one",
       [](cprt_batch_options &o) { o.length = 4; }},
      {"batch_c1: the option order (a cprt_batch_order) is -1",
       [](cprt_batch_options &o) { o.order = cprt_batch_order(-1); }},
      {"batch_c1: struct_size is 8, expected", // of no header there ever was
       [](cprt_batch_options &o) { o.struct_size = 8; }},
  };
  for (const Row &row : rows) {
    BatchOf batch = rowsOf(2, 5);
    row.change(batch.options);
    EXPECT_THAT(batch.create(),
                HasSubstr(std::string("batch_create: ") + row.message));
  }
}

TEST(BatchErrorTest, Tensors) {
  EXPECT_THAT(rowsOf(2, 5).with("labels", {2, 4}, Longs(8)).create(),
              HasSubstr("batch_c3: 'labels' of [2, 4] and 'input_ids' of "
                        "[2, 5] have not the same tokens"));
  EXPECT_THAT(rowsOf(2, 5).with("labels", {3, 5}, Longs(15)).create(),
              HasSubstr("have not the same rows"));
  EXPECT_THAT(rowsOf(2, 5).with("position_ids", {3, 5}, Longs(15)).create(),
              HasSubstr("batch_c3: 'position_ids' of [3, 5]"));
  EXPECT_THAT(rowsOf(2, 5).with("labels", {10}, Longs(10)).create(),
              HasSubstr("batch_c2: 'labels' of [10], expected [B, S]"));
  EXPECT_THAT(rowsOf(2, 5).withFloats("labels", {2, 5}, {}).create(),
              HasSubstr("batch_c2: 'labels' of [2, 5] has null"));
  EXPECT_THAT(rowsOf(2, 5)
                  .withFloats("labels", {2, 5}, std::vector<float>(10))
                  .create(),
              HasSubstr("is of the type f32, expected whole numbers"));
  EXPECT_THAT(rowsOf(2, 5).with("input_ids", {2, 5}, Longs(10)).create(),
              HasSubstr("batch_c2: two tensors are named 'input_ids'"));
  EXPECT_THAT(rowsOf(2, 5).with("cu_seqlens", {2, 2}, Longs(4)).create(),
              HasSubstr("batch_c2: 'cu_seqlens' is made by the batch; give "
                        "seq_lens"));
  EXPECT_THAT(rowsOf(2, 5).with("teacher", {2, 5}, Longs(10), 2).create(),
              HasSubstr("batch_c2: 'teacher' of [2, 5] has no dimension 2"));
  EXPECT_THAT(packed(2, 5).with("teacher", {5, 2}, Longs(10), 0).create(),
              HasSubstr("batch_c3: 'teacher' of [5, 2] has no dimension of 2 "
                        "rows before that of its tokens"));
  EXPECT_THAT(BatchOf(2, CPRT_BATCH_ZIGZAG).create(),
              HasSubstr("batch_c3: there are no tokens"));
  constexpr int64_t large = int64_t(1) << 40;
  EXPECT_THAT(rowsOf(1, 4).with("teacher", {large, 4, 0}, {}).create(),
              HasSubstr("batch_c2: 'teacher' of [1099511627776, 4, 0] has a "
                        "size below 0, or more than 2^40 elements"));
  BatchOf wide = rowsOf(1, 1);
  wide.options.length = 2048;
  // Refused before its data is read, of which there is less.
  wide.withFloats("inputs_embeds", {1, 1, 1 << 28}, {1});
  EXPECT_THAT(wide.create(),
              HasSubstr("batch_c2: 'inputs_embeds' of [1, 1, 268435456] takes "
                        "more than 2^40 bytes with 2048 places a row"));
}

TEST(BatchErrorTest, Lengths) {
  EXPECT_THAT(packed(2, 5).with("seq_lens_padded", {2, 1}, {5, 5}).create(),
              HasSubstr("batch_c4: seq_lens_padded is there, but seq_lens"));
  EXPECT_THAT(packed(2, 5).with("seq_lens", {2, 2}, {3, 3, 5, 0}).create(),
              HasSubstr("batch_c4: row 0: document 1 begins at 3 and takes 3 "
                        "places, but the row has 5"));
  EXPECT_THAT(packed(2, 5).with("seq_lens", {2, 1}, {-3, 5}).create(),
              HasSubstr("batch_c4: row 0: document 0 has -3 tokens; an entry "
                        "that stands for none is -1000"));
  EXPECT_THAT(packed(2, 5)
                  .with("seq_lens", {2, 1}, {4, 5})
                  .with("seq_lens_padded", {2, 1}, {3, 5})
                  .create(),
              HasSubstr("row 0: document 0 has 4 tokens, but takes 3 places"));
  BatchOf few = rowsOf(1, 5);
  few.with("seq_lens", {1, 3}, {1, 1, 1});
  few.options.documents = 3;
  EXPECT_THAT(few.create(),
              HasSubstr("batch_c8: row 0 of the result has 4 documents, "
                        "what is behind the last included"));
}

/// Automodel filters the two lists by the sentinel separately.
TEST(BatchErrorTest, AutomodelPairsUnlikeLengthLists) {
  EXPECT_THAT(packed(1, 8)
                  .with("seq_lens", {1, 3}, {2, -1000, 3})
                  .with("seq_lens_padded", {1, 3}, {4, 4, -1000})
                  .create(),
              HasSubstr("batch_c4: row 0: document 1 is none (-1000) in one of "
                        "seq_lens and seq_lens_padded, and of 4 in the other"));
  EXPECT_THAT(packed(1, 8)
                  .with("seq_lens", {1, 2}, {2, 3})
                  .with("seq_lens_padded", {1, 1}, {8})
                  .create(),
              HasSubstr("have not the same number of documents"));
}

/// Automodel pops attention_mask, and attends to what it masked.
TEST(BatchErrorTest, AutomodelDropsAttentionMasks) {
  EXPECT_THAT(
      rowsOf(2, 4)
          .with("attention_mask", {2, 4}, {1, 1, 1, 1, 0, 1, 1, 1})
          .create(),
      HasSubstr("batch_c5: attention_mask, row 1, token 1 is a token behind "
                "padding at 0, and only right padding is taken"));
  EXPECT_THAT(
      rowsOf(1, 4).with("padding_mask", {1, 4}, {0, 1, 0, 1}).create(),
      HasSubstr("batch_c5: padding_mask, row 0, token 2 is a token behind"));
  EXPECT_THAT(
      rowsOf(1, 4).with("attention_mask", {1, 4}, {1, 1, 2, 2}).create(),
      HasSubstr("is 2, expected 0 or 1; documents are told by seq_lens"));
  EXPECT_THAT(rowsOf(1, 4)
                  .with("attention_mask", {1, 4}, {1, 1, 1, 1})
                  .with("seq_lens", {1, 1}, {3})
                  .create(),
              HasSubstr("token 3 is 1, which is not what seq_lens says"));
}

/// Automodel takes B // num_chunks rows a chunk and drops the rest.
TEST(BatchErrorTest, AutomodelDropsRowsThatChunksDoNotDivide) {
  BatchOf batch = packed(3, 4);
  batch.options.chunks = 2;
  EXPECT_THAT(batch.create(),
              HasSubstr("batch_c7: 3 rows are not divided by chunks, which is "
                        "2; no row is dropped"));
}

/// TransformerEngine's partition rounds such a document down.
TEST(BatchErrorTest, ADocumentThatItsOrderDoesNotDivide) {
  BatchOf batch = packed(1, 12);
  batch.options.per_document = 1;
  batch.with("seq_lens", {1, 2}, {3, 5})
      .with("seq_lens_padded", {1, 2}, {4, 6});
  EXPECT_THAT(batch.create(),
              HasSubstr("batch_c6: row 0: document 1 takes 6 places, which the "
                        "order does not cut for 2 ranks; pad it to 8, or leave "
                        "seq_lens_padded out and have it padded"));
}

/// Automodel masks by comparing with padding_id, which a token may be.
TEST(BatchTest, AutomodelMasksTokensOfThePaddingId) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.with("input_ids", {1, 4}, {5, 0, 0, 0})
      .with("attention_mask", {1, 4}, {1, 1, 1, 0});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("padding_mask"), Longs({0, 0, 0, 1}));
}

/// Automodel sums lengths of documents over rows, but what is left of a row
/// lies between them in memory.
TEST(BatchTest, AutomodelForgetsTheEndsOfRows) {
  BatchOf batch(2, CPRT_BATCH_CONTIGUOUS, CPRT_BATCH_THD);
  batch.with("input_ids", {2, 6}, {1, 2, 3, 0, 4, 0, 6, 7, 8, 9, 0, 0})
      .with("seq_lens", {2, 2}, {3, 1, 4, -1000})
      .with("seq_lens_padded", {2, 2}, {4, 1, 4, -1000});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("cu_seqlens_padded"), Longs({0, 4, 5, 6, 10, 12}));
  EXPECT_EQ(batch.take("cu_seqlens"), Longs({0, 3, 4, 4, 8, 8}));
  EXPECT_EQ(batch.take("padding_mask"),
            Longs({0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1}));
}

/// Automodel leaves the sentinel in cu_seqlens of chunks, which kernels read.
TEST(BatchTest, AutomodelLeavesSentinelsInChunks) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG, CPRT_BATCH_THD);
  batch.options.chunks = 2;
  batch.options.per_document = 1;
  batch.with("input_ids", {2, 8}, Longs(16, 1))
      .with("seq_lens", {2, 2}, {3, 4, 8, -1000})
      .with("seq_lens_padded", {2, 2}, {4, 4, 8, -1000});
  ASSERT_EQ(batch.create(), "");
  Longs shape;
  EXPECT_EQ(batch.take("cu_seqlens_padded", 0, &shape),
            Longs({0, 4, 8, 0, 8, 8}));
  EXPECT_EQ(shape, Longs({2, 3}));
  EXPECT_EQ(batch.take("cu_seqlens"), Longs({0, 3, 7, 0, 8, 8}));
  EXPECT_EQ(batch.take("max_seqlen"), Longs({4, 8}));
}

/// Automodel takes labels as they are, so that whoever shifts shards mispairs
/// at every cut.
TEST(BatchTest, AutomodelLeavesTheShiftToShards) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.options.shift_labels = 1;
  batch.with("input_ids", {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("labels", 0), Longs({1, 2, 7, -100}));
  EXPECT_EQ(batch.take("labels", 1), Longs({3, 4, 5, 6}));
}

TEST(BatchErrorTest, Results) {
  BatchOf batch = rowsOf(2, 5);
  ASSERT_EQ(batch.create(), "");
  char message[512];
  EXPECT_EQ(cprt_batch_get(batch.get(), "logits", 0, nullptr, nullptr, 0,
                           message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message,
              HasSubstr("batch_get: there is no 'logits' in the "
                        "batch; it has cu_seqlens, cu_seqlens_padded"));
  EXPECT_EQ(cprt_batch_get(batch.get(), "input_ids", 2, nullptr, nullptr, 0,
                           message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("the rank is 2, expected 0 to 1"));
  int64_t memory[8];
  EXPECT_EQ(cprt_batch_get(batch.get(), "input_ids", 0, nullptr, memory, 60,
                           message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message,
              HasSubstr("there are 60 bytes for the result, which has 64"));
  cprt_batch_tensor parts[2] = {};
  for (cprt_batch_tensor &part : parts) {
    part.dtype = CPRT_I64;
    part.rank = 2;
    part.shape[0] = 2;
    part.shape[1] = 4;
    part.sequence_dim = 1;
    part.data = memory;
  }
  parts[1].shape[1] = 3;
  EXPECT_EQ(cprt_batch_gather(batch.get(), parts, 0, nullptr, nullptr, 0,
                              message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("batch_gather: batch_c3: 'the part of rank 1' "
                                 "of [2, 3] and 'that of rank 0' of [2, 4]"));
  parts[0].shape[1] = 3;
  EXPECT_EQ(cprt_batch_gather(batch.get(), parts, 0, nullptr, nullptr, 0,
                              message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("has 3 tokens in dimension 1, expected 4"));
  EXPECT_EQ(
      cprt_batch_gather(nullptr, parts, 0, nullptr, nullptr, 0, message, 512),
      CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("batch_gather: the batch is null"));
  EXPECT_EQ(cprt_batch_split(batch.get(), nullptr, 0, nullptr, nullptr, 0,
                             message, 512),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("batch_split: the tensor is null"));
}

} // namespace
