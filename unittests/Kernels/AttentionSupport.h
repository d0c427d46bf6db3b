//===- AttentionSupport.h - Attention and what it means ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_ATTENTIONSUPPORT_H
#define CP_UNITTESTS_KERNELS_ATTENTIONSUPPORT_H

#include "Documents.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace cp::kernels::test {

/// The positions of a part's rows, one by one and as runs.
struct AttentionPart {
  std::vector<int64_t> positions, runs;

  /// At most `most` rows, in runs that follow each other in any order, of rows
  /// one or more apart; or in stripes of few rows, which ascend.
  AttentionPart(int64_t most, Random &random) {
    if (pick(random, 0, 2) == 0)
      stripes(most, random);
    while (size() < most && pick(random, 0, 3)) {
      int64_t first = pick(random, 0, 200);
      append(first, pick(random, 1, std::min<int64_t>(most - size(), 150)),
             pick(random, 0, 1) ? 1 : pick(random, 1, 5));
    }
  }
  AttentionPart() = default;
  void stripes(int64_t most, Random &random) {
    int64_t unit = pick(random, 1, 9), apart = unit * pick(random, 1, 4);
    for (int64_t first = pick(random, 0, apart); size() < most; first += apart)
      append(first, std::min<int64_t>(most - size(), unit), 1);
  }
  void append(int64_t first, int64_t length, int64_t step) {
    runs.insert(runs.end(), {first, length, step});
    for (int64_t i = 0; i < length; ++i)
      positions.push_back(first + i * step);
  }
  int64_t size() const { return int64_t(positions.size()); }
};

struct SeenKeys {
  bool causal = true;
  int64_t window = 0;

  static SeenKeys draw(Random &random) {
    bool causal = pick(random, 0, 3) != 0;
    return {causal, causal && pick(random, 0, 1) ? pick(random, 1, 100) : 0};
  }
  bool isSeen(int64_t query, int64_t key) const {
    return !causal || (key <= query && (!window || query - key < window));
  }
};

inline void append(std::vector<int64_t> &words,
                   const std::vector<int64_t> &array) {
  words.push_back(int64_t(array.size()));
  words.insert(words.end(), array.begin(), array.end());
}

struct AttentionShape {
  int64_t b, hkv, hq, d, dv;
  AttentionPart queries, keys;
  SeenKeys mask;
  double scale;
};

template <typename T> struct AttentionProblem : AttentionShape {
  using Acc = AccumulatorOf<T>;
  Tensor<T> q, k, v, o;
  Tensor<Acc> lse;
  /// Of the whole sequence; without any it is one.
  std::vector<Documents> documents;
  Tensor<int64_t> places;

  explicit AttentionProblem(Random &random)
      : AttentionProblem(drawShape(random), random, pickLay) {
    if (mask.causal && pick(random, 0, 1))
      drawDocuments(random);
  }
  /// Without gaps, as models have them.
  AttentionProblem(const AttentionShape &shape, Random &random)
      : AttentionProblem(shape, random, [](Random &) { return Lay::Dense; }) {}

  void drawDocuments(Random &random) {
    places = Tensor<int64_t>({b, queries.size()}, pickLay(random), random);
    for (int64_t i = 0; i < b; ++i) {
      documents.emplace_back(1000, random);
      for (int64_t row = 0; row < queries.size(); ++row)
        places(i, row) =
            documents.back().placeOf(queries.positions[size_t(row)]);
    }
  }

  /// Whether a row of queries sees a row of keys.
  bool isSeen(int64_t i, int64_t row, int64_t keyRow) const {
    int64_t query = queries.positions[size_t(row)];
    int64_t key = keys.positions[size_t(keyRow)];
    if (!mask.isSeen(query, key))
      return false;
    if (documents.empty())
      return true;
    const Documents &own = documents[size_t(i)];
    return own.of(query) >= 0 && own.of(query) == own.of(key);
  }

  std::string run(KernelFn kernel, Buffer to) {
    std::vector<int64_t> attrs = {mask.causal, bitsOf(scale), mask.window};
    append(attrs, queries.runs);
    append(attrs, keys.runs);
    return test::run(kernel,
                     {q.buffer(), k.buffer(), v.buffer(),
                      documents.empty() ? absent : places.buffer()},
                     {to, lse.buffer()}, attrs);
  }
  std::string run(KernelFn kernel) { return run(kernel, o.buffer()); }

  /// A row of scores, and how much of each is rounding's: the sum of the
  /// magnitudes it was added up from.
  struct Row {
    std::vector<int64_t> keys;
    std::vector<double> weights;
    double top = -std::numeric_limits<double>::infinity();
    double sum = 0, magnitude = 1;
  };
  Row row(int64_t i, int64_t h, int64_t query) {
    Row row;
    std::vector<double> scores;
    for (int64_t key = 0; key < keys.size(); ++key) {
      if (!isSeen(i, query, key))
        continue;
      Expected score;
      for (int64_t c = 0; c < d; ++c)
        score.add(scale * double(q(i, query, h, c)) *
                  double(k(i, key, h * hkv / hq, c)));
      row.keys.push_back(key);
      scores.push_back(score.value);
      row.top = std::max(row.top, score.value);
      row.magnitude = std::max(row.magnitude, score.magnitude);
    }
    for (double score : scores)
      row.weights.push_back(std::exp(score - row.top));
    for (double weight : row.weights)
      row.sum += weight;
    return row;
  }
  /// Where weights are rounded, each may be off by half a unit in the last of
  /// bf16's eight bits.
  Expected expectedO(const Row &row, int64_t i, int64_t h, int64_t c,
                     bool roundsWeights) {
    Expected result;
    for (size_t n = 0; n < row.keys.size(); ++n)
      result.add(row.weights[n] / row.sum *
                 double(v(i, row.keys[n], h * hkv / hq, c)));
    result.magnitude *=
        row.magnitude + (roundsWeights ? 1 / 256.0 / tolerance<T>() : 0);
    return result;
  }

  /// Compares `to` (o, or its sums) and lse with the definition.
  template <typename To>
  void expectMatches(Tensor<To> &to, bool roundsWeights = false) {
    for (int64_t i = 0; i < b; ++i)
      for (int64_t h = 0; h < hq; ++h)
        for (int64_t query = 0; query < queries.size(); ++query) {
          Row expected = row(i, h, query);
          for (int64_t c = 0; c < dv; ++c) {
            Expected o = expectedO(expected, i, h, c, roundsWeights);
            ASSERT_TRUE(isClose(to(i, query, h, c), o))
                << "o at " << i << ' ' << query << ' ' << h << ' ' << c << ": "
                << double(to(i, query, h, c)) << ", expected " << o.value;
          }
          Acc got = lse(i, h, query);
          if (expected.keys.empty())
            ASSERT_EQ(got, -std::numeric_limits<Acc>::infinity());
          else
            ASSERT_TRUE(isClose(got, {expected.top + std::log(expected.sum),
                                      expected.magnitude}))
                << "lse at " << i << ' ' << h << ' ' << query;
        }
    EXPECT_TRUE(to.isIntact());
    EXPECT_TRUE(lse.isIntact());
  }

private:
  AttentionProblem(const AttentionShape &shape, Random &random,
                   Lay (*lay)(Random &))
      : AttentionShape(shape),
        q({b, queries.size(), hq, d}, lay(random), random),
        k({b, keys.size(), hkv, d}, lay(random), random),
        v({b, keys.size(), hkv, dv}, lay(random), random),
        o({b, queries.size(), hq, dv}, lay(random), random),
        lse({b, hq, queries.size()}, lay(random), random) {
    for (Tensor<T> *tensor : {&q, &k, &v})
      tensor->fill(random, -1, 1);
  }
  static AttentionShape drawShape(Random &random) {
    AttentionShape shape;
    shape.b = pick(random, 1, 2);
    shape.hkv = pick(random, 1, 3);
    shape.hq = shape.hkv * pick(random, 1, 3);
    shape.d = pick(random, 1, 40);
    shape.dv = pick(random, 1, 40);
    shape.queries = AttentionPart(pick(random, 1, 160), random);
    shape.keys = AttentionPart(pick(random, 1, 160), random);
    shape.mask = SeenKeys::draw(random);
    // Now and then so large that exp alone would overflow.
    shape.scale = pick(random, 0, 4) ? 0.3 : 200;
    return shape;
  }
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_ATTENTIONSUPPORT_H
