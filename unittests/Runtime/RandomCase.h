//===- RandomCase.h - One random collective, alike on all ranks -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_RANDOMCASE_H
#define CP_UNITTESTS_RUNTIME_RANDOMCASE_H

#include "Harness.h"

#include "cp/Layout/Step.h"

#include "gtest/gtest.h"

#include <ostream>

namespace cp::test {

/// A setting with random choices that depend on the seed alone.
struct RandomCase {
  Setting setting;
  uint64_t seed;
  std::mt19937_64 random{seed};

  int64_t draw(int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  }
  /// Contiguous, zigzag, or striped in units of 1 or 2; all divide a dimension
  /// that has an even number of elements for each rank.
  int64_t anyOrder() { return draw(0, 3); }
  cprt_dtype anyType() { return cprt_dtype(draw(0, 4)); }
  cprt_dtype floatType() { return cprt_dtype(draw(0, 1)); }
  Sizes anySizes(int64_t rank) {
    Sizes sizes;
    for (int64_t i = 0; i < rank; ++i)
      sizes.push_back(draw(1, 4));
    return sizes;
  }
  int64_t groupSize() const {
    return memberOf(setting.mesh, setting.axes, 0).size;
  }
  int64_t numGroups() const { return product(setting.mesh) / groupSize(); }
  /// One whole tensor for each group.
  std::vector<Array> wholes(const Sizes &sizes) {
    std::vector<Array> list;
    for (int64_t i = 0; i < numGroups(); ++i)
      list.push_back(randomArray(sizes, random));
    return list;
  }
  Member member(int64_t rank) const {
    return memberOf(setting.mesh, setting.axes, rank);
  }
};

inline std::ostream &operator<<(std::ostream &stream, const RandomCase &c) {
  stream << "mesh";
  for (int64_t size : c.setting.mesh)
    stream << ' ' << size;
  stream << " axes";
  for (int64_t axis : c.setting.axes)
    stream << ' ' << axis;
  return stream << " (CP_TEST_SEED=" << c.seed << ")";
}

/// Runs `body` on every setting, a few times with different choices.
inline void forEachCase(const std::function<void(RandomCase &)> &body) {
  uint64_t seed = testSeed();
  for (const Setting &setting : settings())
    for (uint64_t round = 0; round < 4; ++round) {
      RandomCase c{setting, seed + round};
      SCOPED_TRACE(testing::Message() << c);
      body(c);
      if (testing::Test::HasFailure())
        return;
    }
}

/// What a rank of a group of `g` sends to add up `elements` of so many bytes:
/// all but its own part of what is scattered; all of what is small to all
/// others; of what is large twice that part, and less than a sixteenth more
/// where the rows do not divide.
inline void expectSumSent(const cprt_counter &counter, bool isScattered,
                          int64_t elements, int64_t bytesOfOne, int64_t g) {
  int64_t bytes = elements * bytesOfOne * (g - 1);
  if (isScattered)
    EXPECT_EQ(counter.bytes_sent, bytes / g);
  else if (elements < sharedSumElements)
    EXPECT_EQ(counter.bytes_sent, bytes);
  else
    EXPECT_LT(counter.bytes_sent, 2 * bytes / g + bytes / 16);
}

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_RANDOMCASE_H
