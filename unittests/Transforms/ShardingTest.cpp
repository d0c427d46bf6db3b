//===- ShardingTest.cpp - Shardings as text -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace cp;

namespace {

auto fieldsOf(const ShardingText &text) {
  return std::tuple(text.mesh, text.axis, text.order, text.batch, text.mixer,
                    text.attention, text.tensorAxis, text.tensorRows, text.scan,
                    text.replicateUnused, text.partialGradients);
}

std::string errorOf(const ShardingText &text) {
  llvm::Expected<Sharding> sharding = parseSharding(
      text, [](llvm::StringRef option) { return "--" + option.str(); });
  return sharding ? "" : llvm::toString(sharding.takeError());
}

/// The options of the pass have them as text, in Passes.td.
TEST(ShardingTest, DefaultsAreThoseOfTheOptions) {
  EXPECT_EQ(fieldsOf(textOf(Sharding())), fieldsOf(ShardingText()));
}

TEST(ShardingTest, EveryWordIsReadAsItIsPrinted) {
  for (const char *order : {"contiguous", "zigzag", "striped", "striped:3"})
    for (const char *mixer : {"hidden", "sequence", "2d"})
      for (const char *attention : {"ulysses", "ring", "gather", "2d"})
        for (const char *scan :
             {"chain", "gather", "doubling", "pipelined", "transposed"})
          for (const char *tensorAxis : {"", "t"}) {
            ShardingText text;
            text.mesh = "d=2,t=2,ring=3,u=4";
            text.batch = *tensorAxis ? "d" : "";
            text.axis = "ring,u";
            text.order = order;
            text.mixer = mixer;
            text.attention = attention;
            text.scan = scan;
            text.tensorAxis = tensorAxis;
            text.tensorRows = text.replicateUnused = *tensorAxis;
            text.partialGradients = *tensorAxis;
            llvm::Expected<Sharding> sharding = parseSharding(text);
            ASSERT_TRUE(static_cast<bool>(sharding))
                << llvm::toString(sharding.takeError());
            EXPECT_EQ(fieldsOf(textOf(*sharding)), fieldsOf(text));
          }
}

TEST(ShardingTest, CutsOfAStrategy) {
  ShardingText text;
  text.mesh = "t=2,ring=3,u=4";
  text.axis = "ring,u";
  text.order = "zigzag";
  text.tensorAxis = "t";
  Sharding sharding = llvm::cantFail(parseSharding(text));
  Cut ring = {1, Order::Zigzag}, u = {2}, t = {0};
  using Cuts = std::vector<Cut>;
  EXPECT_EQ(sharding.onSequence(CutStrategy::Sequence), (Cuts{ring, u}));
  EXPECT_EQ(sharding.onHidden(CutStrategy::Sequence), (Cuts{t}));
  EXPECT_EQ(sharding.onSequence(CutStrategy::TwoD), (Cuts{ring}));
  EXPECT_EQ(sharding.onHidden(CutStrategy::TwoD), (Cuts{t, u}));
  EXPECT_EQ(sharding.onSequence(CutStrategy::Hidden), (Cuts{}));
  EXPECT_EQ(sharding.onHidden(CutStrategy::Hidden), (Cuts{t, Cut{1}, u}));
  EXPECT_EQ(partsOf(sharding.mesh, sharding.sequence), 12);
}

TEST(ShardingTest, ErrorsSayWhatCameAndWhatThereIs) {
  ShardingText text;
  text.mesh = "cp";
  EXPECT_THAT(errorOf(text), testing::HasSubstr("such as dp=2,cp=4"));
  text.mesh = "cp=2";
  text.axis = "dp";
  EXPECT_EQ(
      errorOf(text),
      "axis 'dp' is not an axis of mesh 'cp=2'; name one of these, or add "
      "it there, of 1 rank (cp=2,dp=1) where nothing is cut over it");
  text.axis = "cp,cp";
  EXPECT_THAT(errorOf(text), testing::HasSubstr("axis 'cp' is used twice"));
  text.axis = "cp";
  text.tensorAxis = "cp";
  EXPECT_THAT(errorOf(text), testing::HasSubstr("axis 'cp' is used twice"));
  text.tensorAxis = "";
  text.order = "striped:0";
  EXPECT_EQ(errorOf(text),
            "--order must be contiguous, zigzag, striped, striped:UNIT with a "
            "unit of at least 1, zigzag_per_document, or "
            "contiguous_per_document, but is 'striped:0'");
  text.order = "zigzag";
  text.mixer = "ring";
  EXPECT_EQ(errorOf(text),
            "--mixer must be hidden, sequence or 2d, but is 'ring'");
  text.mixer = "2d";
  text.attention = "";
  EXPECT_EQ(errorOf(text),
            "--attention must be ulysses, ring, gather or 2d, but is ''");
  text.attention = "2d";
  text.scan = "tree";
  EXPECT_EQ(errorOf(text), "--scan must be chain, gather, doubling, pipelined "
                           "or transposed, but is 'tree'");
  text.scan = "gather";
  EXPECT_EQ(errorOf(text), "");
}

} // namespace
