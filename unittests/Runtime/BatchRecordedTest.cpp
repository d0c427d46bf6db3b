//===- BatchRecordedTest.cpp - Batches as NeMo Automodel makes them -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchSupport.h"

#include "gtest/gtest.h"

using namespace cp::test;

namespace {

struct Given {
  const char *name;
  Longs shape, numbers;
};
struct Made {
  int64_t rank;
  const char *name;
  Longs shape, numbers;
};
struct Recorded {
  const char *name;
  int64_t ranks;
  void (*change)(cprt_batch_options &);
  std::vector<Given> given;
  std::vector<Made> made;
};
const std::vector<Recorded> recorded = {
#include "AutomodelBatches.inc"
};

BatchOf batchOf(const Recorded &record) {
  BatchOf batch(record.ranks, CPRT_BATCH_CONTIGUOUS);
  record.change(batch.options);
  for (const Given &given : record.given)
    if (given.name == std::string("inputs_embeds"))
      batch.withFloats(given.name, given.shape,
                       {given.numbers.begin(), given.numbers.end()});
    else
      batch.with(given.name, given.shape, given.numbers);
  return batch;
}

Longs numbersOf(const BatchOf &batch, const Made &made) {
  // Between ranks Automodel gives what lies in memory under this name.
  std::string name = made.name;
  if (name == "cu_seqlens" && batch.options.ranks > 1)
    name = "cu_seqlens_padded";
  if (name != "inputs_embeds")
    return batch.take(name, made.rank);
  std::vector<float> floats = batch.takeFloats(name, made.rank);
  return {floats.begin(), floats.end()};
}

/// What Automodel has in padding is 0 on some of its ways and counted on on
/// others, of positions, and of labels what the caller had there: ours are
/// counted on, and never asked for.
void hidePadding(const BatchOf &batch, const Made &made, Longs &ours,
                 Longs &theirs) {
  bool isLabels = made.name == std::string("labels");
  if (!isLabels && made.name != std::string("position_ids"))
    return;
  Longs padding = batch.take("padding_mask", made.rank);
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!padding[i % padding.size()])
      continue;
    if (isLabels) {
      EXPECT_EQ(ours[i], -100);
    }
    ours[i] = theirs[i] = 0;
  }
}

TEST(BatchRecordedTest, RanksAreGivenWhatAutomodelGivesThem) {
  int compared = 0;
  for (const Recorded &record : recorded) {
    BatchOf batch = batchOf(record);
    ASSERT_EQ(batch.create(), "") << record.name;
    for (const Made &made : record.made) {
      SCOPED_TRACE(std::string(record.name) + ", rank " +
                   std::to_string(made.rank) + ", " + made.name);
      Longs ours = numbersOf(batch, made), theirs = made.numbers;
      ASSERT_EQ(ours.size(), theirs.size());
      hidePadding(batch, made, ours, theirs);
      EXPECT_EQ(ours, theirs);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

} // namespace
