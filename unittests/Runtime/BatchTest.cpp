//===- BatchTest.cpp - What ranks are given of a batch --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchSupport.h"

#include "CProgram.h"

#include "gtest/gtest.h"

using namespace cp::test;

namespace {

const Longs ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

TEST(BatchTest, RowsArePaddedAndCut) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.options.padding_id = 99;
  batch.with("input_ids", {2, 5}, ids).with("labels", {2, 5}, ids);
  ASSERT_EQ(batch.create(), "");
  Longs shape;
  EXPECT_EQ(batch.take("input_ids", 0, &shape),
            Longs({1, 2, 99, 99, 6, 7, 99, 99}));
  EXPECT_EQ(shape, Longs({2, 4}));
  EXPECT_EQ(batch.take("input_ids", 1), Longs({3, 4, 5, 99, 8, 9, 10, 99}));
  EXPECT_EQ(batch.take("labels", 0),
            Longs({1, 2, -100, -100, 6, 7, -100, -100}));
  EXPECT_EQ(batch.take("padding_mask", 1), Longs({0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(batch.take("position_ids", 0), Longs({0, 1, 6, 7, 0, 1, 6, 7}));
  EXPECT_EQ(batch.take("indices", 1), Longs({2, 3, 4, 5, 2, 3, 4, 5}));
  EXPECT_EQ(batch.take("cu_seqlens_padded"), Longs({0, 8, 0, 8}));
  EXPECT_EQ(batch.take("cu_seqlens"), Longs({0, 5, 0, 5}));
  EXPECT_EQ(batch.take("max_seqlen", 1), Longs({8, 8}));
  EXPECT_EQ(batch.gather("input_ids", false, &shape), ids);
  EXPECT_EQ(shape, Longs({2, 5}));
  EXPECT_EQ(batch.gather("input_ids", true, &shape), batch.take("input_ids"));
  EXPECT_EQ(shape, Longs({2, 8}));
  cprt_batch_info info = batch.info();
  EXPECT_EQ(info.length, 8);
  EXPECT_EQ(info.local_length, 4);
  EXPECT_EQ(info.padding, 6);
}

TEST(BatchTest, OneRankIsGivenWhatThereWas) {
  BatchOf batch(1, CPRT_BATCH_ZIGZAG);
  batch.with("input_ids", {2, 5}, ids).with("labels", {2, 5}, ids);
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("input_ids", 0), ids);
  EXPECT_EQ(batch.take("labels", 0), ids);
  EXPECT_EQ(batch.gather("labels"), ids);
  EXPECT_EQ(batch.info().padding, 0);
}

/// A frozen target model's rows: contiguous, padded to R and not to 2R.
TEST(BatchTest, TargetRowsNeedNoLabels) {
  BatchOf batch(3, CPRT_BATCH_CONTIGUOUS);
  batch.with("input_ids", {2, 5}, ids)
      .with("position_ids", {1, 5}, {4, 5, 6, 7, 8});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.info().length, 6);
  EXPECT_EQ(batch.take("input_ids", 2), Longs({5, 0, 10, 0}));
  EXPECT_EQ(batch.take("position_ids", 2), Longs({8, 9, 8, 9}));
  const char *names[16];
  size_t count = cprt_batch_names(batch.get(), names, 16);
  for (size_t i = 0; i < count; ++i)
    EXPECT_STRNE(names[i], "labels");
}

TEST(BatchTest, StripedRunsAreOfAUnit) {
  BatchOf batch(2, CPRT_BATCH_STRIPED);
  batch.options.unit = 2;
  batch.with("input_ids", {1, 7}, {1, 2, 3, 4, 5, 6, 7});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("input_ids", 0), Longs({1, 2, 5, 6}));
  EXPECT_EQ(batch.take("input_ids", 1), Longs({3, 4, 7, 0}));
}

TEST(BatchTest, APartIsAMultiple) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.options.pad_multiple = 3;
  batch.with("input_ids", {1, 7}, {1, 2, 3, 4, 5, 6, 7});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.info().length, 12);
  EXPECT_EQ(batch.info().local_length, 6);
  batch.options.length = 24;
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.info().length, 24);
}

TEST(BatchTest, PositionsOfSeveralKindsAreCutToo) {
  BatchOf batch(2, CPRT_BATCH_CONTIGUOUS);
  Longs positions = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32};
  batch.with("input_ids", {2, 3}, {1, 2, 3, 4, 5, 6})
      .with("position_ids", {2, 2, 3}, positions);
  ASSERT_EQ(batch.create(), "");
  Longs shape;
  EXPECT_EQ(batch.take("position_ids", 1, &shape),
            Longs({2, 3, 12, 13, 22, 23, 32, 33}));
  EXPECT_EQ(shape, Longs({2, 2, 2}));
  EXPECT_EQ(batch.gather("position_ids"), positions);
}

TEST(BatchTest, NothingIsAskedOfPadding) {
  BatchOf batch(2, CPRT_BATCH_CONTIGUOUS, CPRT_BATCH_THD);
  batch
      .withFloats("inputs_embeds", {2, 3, 2},
                  {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6})
      .withFloats("loss_mask", {2, 3}, {1, 1, 1, 1, 1, 1})
      .with("padding_mask", {2, 3}, {0, 0, 1, 0, 0, 0});
  batch.options.pad_multiple = 4;
  ASSERT_EQ(batch.create(), "");
  Longs shape;
  EXPECT_EQ(batch.takeFloats("inputs_embeds", 1, &shape),
            std::vector<float>({5, 5, 6, 6, 0, 0, 0, 0}));
  EXPECT_EQ(shape, Longs({1, 4, 2}));
  EXPECT_EQ(batch.takeFloats("loss_mask", 0), std::vector<float>({1, 1, 0, 1}));
  EXPECT_EQ(batch.takeFloats("loss_mask", 1), std::vector<float>({1, 1, 0, 0}));
}

/// Any buffers, as of a context that cuts what it is handed: each along a
/// dimension of its own, also one without rows.
TEST(BatchTest, AnyTensorIsCutAlongItsDimension) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.withFloats("frequencies", {3, 2}, {1, 2, 3, 4, 5, 6}, 0)
      .withFloats("teacher", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, 2);
  ASSERT_EQ(batch.create(), "");
  Longs shape;
  EXPECT_EQ(batch.takeFloats("frequencies", 0, &shape),
            std::vector<float>({1, 2, 0, 0}));
  EXPECT_EQ(shape, Longs({2, 2}));
  EXPECT_EQ(batch.takeFloats("teacher", 1, &shape),
            std::vector<float>({2, 3, 5, 6}));
  EXPECT_EQ(shape, Longs({1, 2, 2}));
}

/// One more tensor, and one of the ranks' own, go as those of the batch did.
TEST(BatchTest, LaterTensorsAreSplitAlike) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG, CPRT_BATCH_THD);
  batch.options.per_document = 1;
  batch.with("input_ids", {2, 4}, {1, 2, 3, 0, 5, 6, 7, 8})
      .with("seq_lens", {2, 2}, {3, -1000, 2, 2});
  ASSERT_EQ(batch.create(), "");
  std::vector<float> whole = {1, 2, 3, 0, 5, 6, 7, 8};
  float fill = -1;
  cprt_batch_tensor tensor = {};
  tensor.dtype = CPRT_F32;
  tensor.rank = 2;
  tensor.shape[0] = 2;
  tensor.shape[1] = 4;
  tensor.sequence_dim = 1;
  tensor.data = whole.data();
  tensor.fill = &fill;
  std::vector<float> parts[2];
  cprt_batch_tensor described[2];
  for (int rank = 0; rank < 2; ++rank) {
    parts[rank].resize(6);
    ASSERT_EQ(cprt_batch_split(batch.get(), &tensor, rank, &described[rank],
                               parts[rank].data(), 24, nullptr, 0),
              CPRT_OK);
    EXPECT_EQ(described[rank].shape[0], 1);
    EXPECT_EQ(described[rank].shape[1], 6);
    described[rank].data = parts[rank].data();
  }
  EXPECT_EQ(parts[0], std::vector<float>({1, -1, 5, -1, 7, -1}));
  EXPECT_EQ(parts[1], std::vector<float>({2, 3, 6, -1, 8, -1}));
  std::vector<float> back(8, 9);
  ASSERT_EQ(cprt_batch_gather(batch.get(), described, 0, nullptr, back.data(),
                              32, nullptr, 0),
            CPRT_OK);
  EXPECT_EQ(back, whole);
}

TEST(BatchTest, RowsOfDocumentsAreWhatProgramsTake) {
  BatchOf batch(2, CPRT_BATCH_ZIGZAG);
  batch.options.documents = 4;
  batch.options.shift_labels = 1;
  batch.with("input_ids", {2, 7}, {1, 2, 3, 4, 5, 0, 0, 6, 7, 8, 9, 8, 7, 6})
      .with("seq_lens", {2, 3}, {3, 2, -1000, 7, -1000, -1000});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("cu_seqlens_padded"),
            Longs({0, 3, 5, 8, 8, 0, 7, 8, 8, 8}));
  EXPECT_EQ(batch.take("cu_seqlens"), Longs({0, 3, 5, 5, 5, 0, 7, 7, 7, 7}));
  EXPECT_EQ(batch.take("position_ids"),
            Longs({0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 0}));
  EXPECT_EQ(batch.take("labels"), Longs({2, 3, -100, 5, -100, -100, -100, -100,
                                         7, 8, 9, 8, 7, 6, -100, -100}));
}

TEST(BatchTest, LabelsOfTokensBecomeThoseOfTheNext) {
  BatchOf batch(2, CPRT_BATCH_CONTIGUOUS);
  batch.options.shift_labels = 1;
  batch.with("input_ids", {1, 4}, {1, 2, 3, 4})
      .with("labels", {1, 4}, {-100, -100, 3, 4})
      .with("attention_mask", {1, 4}, {1, 1, 1, 0});
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("labels"), Longs({-100, 3, -100, -100}));
}

/// A mask of labels is shifted with them, and a position beyond all is counted
/// on somehow.
TEST(BatchTest, MasksGoWithTheirLabels) {
  BatchOf batch(1, CPRT_BATCH_CONTIGUOUS);
  batch.options.shift_labels = 1;
  batch.options.length = 7;
  batch.with("input_ids", {1, 6}, {1, 2, 3, 4, 5, 6})
      .with("seq_lens", {1, 2}, {3, 3})
      .with("loss_mask", {1, 6}, {0, 0, 1, 1, 1, 0})
      .with("position_ids", {1, 6}, Longs(6, INT64_MAX));
  ASSERT_EQ(batch.create(), "");
  EXPECT_EQ(batch.take("labels"), Longs({2, 3, -100, 5, 6, -100, -100}));
  EXPECT_EQ(batch.take("loss_mask"), Longs({0, 1, 0, 1, 0, 0, 0}));
}

/// Whatever comes first, tensors say the same rows.
TEST(BatchTest, SharedPositionsSayNoRows) {
  for (bool first : {false, true}) {
    BatchOf batch(1, CPRT_BATCH_CONTIGUOUS, CPRT_BATCH_THD);
    if (first)
      batch.with("position_ids", {1, 3}, {0, 1, 2});
    batch.with("teacher", {4, 3}, Longs(12, 5));
    if (!first)
      batch.with("position_ids", {1, 3}, {0, 1, 2});
    ASSERT_EQ(batch.create(), "");
    EXPECT_EQ(batch.info().original_rows, 4);
    EXPECT_EQ(batch.info().length, 12);
  }
}

TEST(BatchTest, ServesProgramsInC) { EXPECT_EQ(cpTestBatchInC(), 0); }

} // namespace
