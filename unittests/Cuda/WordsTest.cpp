//===- WordsTest.cpp - What a call brings to the device -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "gtest/gtest.h"

#include <numeric>

using cp::kernels::cuda::Workspace;

// As many as one launch brings, more, and none.
TEST(WordsTest, TablesOfAnySizeAreBrought) {
  for (size_t count : {0, 1, 255, 256, 257, 1000}) {
    std::vector<int64_t> words(count);
    std::iota(words.begin(), words.end(), int64_t(1) << 40);
    const std::vector<int64_t> expected = words;
    Workspace workspace(nullptr);
    const int64_t *there = workspace.upload(words.data(), count);
    ASSERT_NE(there, nullptr);
    // They may be written over.
    std::fill(words.begin(), words.end(), 0);
    EXPECT_EQ(std::vector<int64_t>(there, there + count), expected);
  }
}
