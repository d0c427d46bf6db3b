//===- DocumentsTest.cpp - Nothing passes from one to the next ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each document of a row is as if it were alone: by the plain kernel on its
// rows only, which knows nothing of documents. One whose numbers are all NaN
// leaves every bit of the others.
//
//===----------------------------------------------------------------------===//

#include "SsdParts.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

template <typename T> class DocumentsTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(DocumentsTest, Floats);

/// Rows [begin, end) of batch element b, which may begin below 0.
template <typename T>
Tensor<T> rowsOf(Tensor<T> &from, int64_t b, int64_t begin, int64_t end) {
  Random random(1);
  begin = std::max<int64_t>(begin, 0);
  std::vector<int64_t> sizes = from.sizes;
  sizes[0] = 1;
  sizes[1] = std::max<int64_t>(end - begin, 0);
  Tensor<T> to(sizes, Lay::Dense, random);
  int64_t perRow = 1;
  for (size_t dim = 2; dim < sizes.size(); ++dim)
    perRow *= sizes[dim];
  for (int64_t i = 0; i < to.count(); ++i)
    to[i] = from[(b * from.sizes[1] + begin) * perRow + i];
  return to;
}

/// Numbers that are all NaN.
template <typename T> void spoil(Tensor<T> &tensor, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i)
    tensor[i] = T(std::numeric_limits<float>::quiet_NaN());
}
/// In the rows [begin, end) of batch element b.
template <typename T>
void spoilRows(Tensor<T> &tensor, int64_t b, int64_t begin, int64_t end) {
  int64_t perRow = 1;
  for (size_t dim = 2; dim < tensor.sizes.size(); ++dim)
    perRow *= tensor.sizes[dim];
  int64_t first = b * tensor.sizes[1];
  spoil(tensor, (first + std::max<int64_t>(begin, 0)) * perRow,
        (first + end) * perRow);
}

/// That `got` has the numbers of `expected` but for rounding: 1e-12 in f64, and
/// more where factors are rounded to bf16.
template <typename T>
void expectNear(Tensor<T> &got, Tensor<T> &expected,
                bool roundsFactors = false) {
  constexpr bool isDouble = std::is_same_v<T, double>;
  double allowed = isDouble ? 1e-12 : tolerance<T>();
  if (roundsFactors && std::is_same_v<T, BFloat16>)
    allowed = 1.0 / 64;
  double largest = 1;
  for (int64_t i = 0; i < expected.count(); ++i)
    largest = std::max(largest, std::fabs(double(expected[i])));
  for (int64_t i = 0; i < expected.count(); ++i)
    ASSERT_NEAR(double(got[i]), double(expected[i]),
                largest * allowed +
                    2 * storageRounding<T>() * std::fabs(double(expected[i])))
        << i;
}
/// Bit by bit.
template <typename T> bool isSame(T got, T expected) {
  return std::memcmp(&got, &expected, sizeof got) == 0;
}
template <typename T> void expectSame(Tensor<T> &got, Tensor<T> &expected) {
  for (int64_t i = 0; i < expected.count(); ++i)
    ASSERT_TRUE(isSame(got[i], expected[i]))
        << i << ": " << double(got[i]) << " for " << double(expected[i]);
}

//===----------------------------------------------------------------------===//
// The scan, whole and in two parts
//===----------------------------------------------------------------------===//

template <typename T> SsdProblem<T> packedScan(uint64_t seed, Random &random) {
  SsdProblem<T> problem(pickShape(random), Fading(seed % 3), random);
  problem.documents = Batch(problem.s.b, problem.s.l, random);
  return problem;
}

/// A document of it as a problem of its own. Only one that has begun before
/// knows the initial state.
template <typename T>
SsdProblem<T> alone(SsdProblem<T> &whole, int64_t b, int64_t document) {
  int64_t begin = whole.documents[b].begin(document),
          end = whole.documents[b].end(document);
  SsdProblem<T> one = whole;
  one.documents = {};
  one.hasInitial = whole.hasInitial && begin < 0;
  one.x = rowsOf(whole.x, b, begin, end);
  one.dt = rowsOf(whole.dt, b, begin, end);
  one.B = rowsOf(whole.B, b, begin, end);
  one.C = rowsOf(whole.C, b, begin, end);
  one.initial = rowsOf(whole.initial, b, 0, whole.s.h);
  one.y = one.x;
  one.finalState = one.initial;
  return one;
}

TYPED_TEST(DocumentsTest, AScanIsThatOfEachAlone) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    SsdProblem<T> whole = packedScan<T>(seed, random);
    for (const Implementation &each : implementations()) {
      KernelFn kernel = each.find("ssd", Element<T>::dtype);
      ASSERT_EQ(whole.run(kernel), "");
      for (int64_t b = 0; b < whole.s.b; ++b)
        for (int64_t d = 0; d < whole.documents[b].count(); ++d) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", "
                                          << each.name << ", document " << d);
          SsdProblem<T> one = alone(whole, b, d);
          Tensor<T> got = rowsOf(whole.y, b, whole.documents[b].begin(d),
                                 whole.documents[b].end(d));
          ASSERT_EQ(one.run(kernel), "");
          // Tiles begin with documents, so that not even rounding differs.
          expectSame(got, one.y);
          if (std::is_same_v<T, double>) {
            ASSERT_EQ(one.run(implementations()[0].find("ssd", DType::F64)),
                      "");
            expectNear(got, one.y);
          }
          if (this->HasFatalFailure())
            return;
        }
    }
  }
}

/// Whether some tensors have the same bits where rows are not of a document.
template <typename T>
void expectOthersSame(Tensor<T> &got, Tensor<T> &expected, int64_t b,
                      const Documents &documents, int64_t spoiled) {
  int64_t rows = got.sizes[1],
          perRow = rows ? got.count() / got.sizes[0] / rows : 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    bool isSpoiled =
        i / perRow / rows == b && documents.of(i / perRow % rows) == spoiled;
    if (!isSpoiled) {
      ASSERT_TRUE(isSame(got[i], expected[i]))
          << i << ": " << double(got[i]) << " for " << double(expected[i]);
    }
  }
}

/// The batch element and document that are to be spoiled; false where there is
/// none with a token.
bool pickDocument(const Batch &batch, Random &random, int64_t &b, int64_t &d) {
  b = pick(random, 0, int64_t(batch.rows.size()) - 1);
  d = pick(random, 0, batch[b].count() - 1);
  return batch[b].end(d) > std::max<int64_t>(batch[b].begin(d), 0);
}

TYPED_TEST(DocumentsTest, ANaNLeavesTheBitsOfOtherScans) {
  using T = TypeParam;
  int64_t checked = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    SsdProblem<T> clean = packedScan<T>(seed, random);
    int64_t b, d, cut = pick(random, 0, clean.s.l);
    if (!pickDocument(clean.documents, random, b, d))
      continue;
    const Documents &documents = clean.documents[b];
    SsdProblem<T> bad = clean;
    for (Tensor<T> *tensor : {&bad.x, &bad.dt, &bad.B, &bad.C})
      spoilRows(*tensor, b, documents.begin(d), documents.end(d));
    // So is the state that only this document's tokens would see.
    if (documents.begin(0) == 0 || d == 0)
      spoilRows(bad.initial, b, 0, bad.s.h);
    for (const Implementation &each : implementations())
      for (bool inParts : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ", " << each.name << ", document "
                     << d << (inParts ? ", cut at " : "") << cut);
        for (SsdProblem<T> *problem : {&clean, &bad})
          if (inParts)
            runInParts(*problem, cut, each, random);
          else
            ASSERT_EQ(problem->run(each.find("ssd", Element<T>::dtype)), "");
        expectOthersSame(bad.y, clean.y, b, documents, d);
        if (d + 1 < documents.count()) {
          expectSame(bad.finalState, clean.finalState);
          ++checked;
        }
        if (this->HasFatalFailure())
          return;
      }
  }
  EXPECT_GT(checked, 20);
}

/// What cuts hand on is clean too: each output of the first half that no token
/// of the spoiled document is part of.
TYPED_TEST(DocumentsTest, ANaNLeavesTheStatesBehindIt) {
  using T = TypeParam;
  Random random(3);
  SsdProblem<T> whole({1, 150, 2, 5, 1, 7, 40}, Fading::Slow, random);
  // Documents of 50 rows: the chunks of 40 have a beginning but the first.
  whole.documents = Batch(1, 150, random);
  for (int64_t t = 0; t < 150; ++t)
    whole.documents.places(0, t) = t % 50;
  SsdProblem<T> bad = whole;
  for (Tensor<T> *tensor : {&bad.x, &bad.dt, &bad.B})
    spoilRows(*tensor, 0, 50, 100);
  for (const Implementation &each : implementations()) {
    SCOPED_TRACE(each.name);
    Part<T> clean(whole, 0, 150, random), spoiled(bad, 0, 150, random);
    ASSERT_EQ(clean.runStates(each) + spoiled.runStates(each), "");
    for (int64_t h = 0; h < 2; ++h) {
      EXPECT_EQ(spoiled.decay(0, h), 0);
      EXPECT_TRUE(std::signbit(double(spoiled.decay(0, h))));
    }
    expectSame(spoiled.state, clean.state);
    for (int64_t chunk = 0; chunk < 4; ++chunk)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < 5; ++i)
          for (int64_t j = 0; j < 7; ++j) {
            bool endsInIt = chunk == 1;
            auto got = double(spoiled.chunkStates(0, chunk, h, i, j));
            if (endsInIt)
              ASSERT_TRUE(std::isnan(got));
            else
              ASSERT_EQ(got, double(clean.chunkStates(0, chunk, h, i, j)));
          }
  }
}

/// Rows without a token keep the state, and are 0, wherever cuts are.
TYPED_TEST(DocumentsTest, RowsWithoutATokenKeepTheState) {
  using T = TypeParam;
  Random random(4);
  SsdProblem<T> with({1, 150, 2, 5, 1, 7, 16}, Fading::Slow, random);
  // 40 tokens, 30 rows without one, 60 tokens, and 20 more without.
  with.documents = Batch(1, 150, random);
  auto isToken = [](int64_t t) { return t < 40 || (t >= 70 && t < 130); };
  for (int64_t t = 0; t < 150; ++t)
    with.documents.places(0, t) = !isToken(t) ? -1 : t < 40 ? t : t - 70;
  SsdProblem<T> last = with;
  last.documents = {};
  last.hasInitial = false;
  for (Tensor<T> *tensor : {&last.x, &last.dt, &last.B, &last.C})
    *tensor = rowsOf(*tensor, 0, 70, 130);
  last.y = last.x;
  for (Tensor<T> *tensor : {&with.x, &with.dt, &with.B, &with.C}) {
    spoilRows(*tensor, 0, 40, 70);
    spoilRows(*tensor, 0, 130, 150);
  }
  for (const Implementation &each : implementations())
    for (int64_t cut : {-1, 0, 40, 55, 70, 100, 140, 150}) {
      SCOPED_TRACE(testing::Message() << each.name << ", cut at " << cut);
      ASSERT_EQ(last.run(each.find("ssd", Element<T>::dtype)), "");
      if (cut < 0)
        ASSERT_EQ(with.run(each.find("ssd", Element<T>::dtype)), "");
      else
        runInParts(with, cut, each, random);
      Tensor<T> got = rowsOf(with.y, 0, 70, 130);
      expectNear(got, last.y, each.roundsFactors);
      expectNear(with.finalState, last.finalState, each.roundsFactors);
      for (int64_t t = 0; t < 150; ++t)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t i = 0; i < 5; ++i)
            ASSERT_TRUE(isToken(t) ? std::isfinite(double(with.y(0, t, h, i)))
                                   : double(with.y(0, t, h, i)) == 0);
    }
}

/// Between threads too, where a scan of few heads is cut into segments.
TYPED_TEST(DocumentsTest, ANaNLeavesTheBitsOfOtherSegments) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    SsdProblem<T> clean({1, pick(random, 400, 450), 1, 40, 1, 17, 64},
                        Fading(seed % 3), random);
    clean.documents = Batch(1, clean.s.l, random);
    clean.hasInitial = true;
    const Documents &documents = clean.documents[0];
    int64_t d = pick(random, 0, documents.count() - 1);
    SsdProblem<T> bad = clean;
    for (Tensor<T> *tensor : {&bad.x, &bad.dt, &bad.B, &bad.C})
      spoilRows(*tensor, 0, documents.begin(d), documents.end(d));
    if (documents.begin(0) == 0 || d == 0)
      spoilRows(bad.initial, 0, 0, 1);
    WithThreads threads(pick(random, 4, 9));
    for (const Implementation &each : implementations()) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << each.name
                                      << ", document " << d);
      KernelFn kernel = each.find("ssd", Element<T>::dtype);
      ASSERT_EQ(clean.run(kernel) + bad.run(kernel), "");
      expectOthersSame(bad.y, clean.y, 0, documents, d);
      if (d + 1 < documents.count())
        expectSame(bad.finalState, clean.finalState);
      if (this->HasFatalFailure())
        return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

TYPED_TEST(DocumentsTest, AConvolutionIsThatOfEachAlone) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    int64_t b = pick(random, 1, 2), l = pick(random, 1, 300),
            c = pick(random, 1, 40), w = pick(random, 1, 5);
    Tensor<T> x({b, l, c}, pickLay(random), random),
        y = x, weight({c, w}, Lay::Dense, random),
        initial({b, w - 1, c}, Lay::Dense, random);
    for (Tensor<T> *tensor : {&x, &weight, &initial})
      tensor->fill(random, -1, 1);
    Batch batch(b, l, random);
    for (const Implementation &each : implementations()) {
      KernelFn kernel = each.find("conv1d", Element<T>::dtype);
      std::vector<Buffer> rest = {weight.buffer(), absent, initial.buffer(),
                                  batch.places.buffer()};
      auto runOn = [&](Tensor<T> &on) {
        std::vector<Buffer> ins = {on.buffer()};
        ins.insert(ins.end(), rest.begin(), rest.end());
        return run(kernel, ins, {y.buffer()}, {1});
      };
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << each.name);
      int64_t spoiled, at;
      bool spoils = pickDocument(batch, random, at, spoiled);
      Tensor<T> bad = x;
      if (spoils)
        spoilRows(bad, at, batch[at].begin(spoiled), batch[at].end(spoiled));
      ASSERT_EQ(runOn(bad), "");
      Tensor<T> others = y;
      ASSERT_EQ(runOn(x), "");
      if (spoils)
        expectOthersSame(others, y, at, batch[at], spoiled);
      for (int64_t i = 0; i < b; ++i)
        for (int64_t d = 0; d < batch[i].count(); ++d) {
          int64_t begin = batch[i].begin(d), end = batch[i].end(d);
          Tensor<T> own = rowsOf(x, i, begin, end), got = own, result = own;
          got = rowsOf(y, i, begin, end);
          Tensor<T> before = rowsOf(initial, i, 0, w - 1);
          // Of the rows before the first, those that it counts.
          for (int64_t row = 0; row < (w - 1) + std::min<int64_t>(begin, 0);
               ++row)
            for (int64_t channel = 0; channel < c; ++channel)
              before(0, row, channel) = T(0);
          ASSERT_EQ(run(implementations()[0].find("conv1d", Element<T>::dtype),
                        {own.buffer(), weight.buffer(), absent,
                         begin < 0 ? before.buffer() : absent},
                        {result.buffer()}, {1}),
                    "");
          expectNear(got, result);
        }
      if (this->HasFatalFailure())
        return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

TYPED_TEST(DocumentsTest, AttentionIsThatOfEachAlone) {
  using T = TypeParam;
  using Acc = AccumulatorOf<T>;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    int64_t b = pick(random, 1, 2), l = pick(random, 1, 300), hq = 4, hkv = 2,
            d = pick(random, 1, 20), dv = pick(random, 1, 20),
            window = pick(random, 0, 1) * pick(random, 1, 90);
    Tensor<T> q({b, l, hq, d}, pickLay(random), random),
        k({b, l, hkv, d}, pickLay(random), random),
        v({b, l, hkv, dv}, pickLay(random), random),
        o({b, l, hq, dv}, pickLay(random), random);
    Tensor<Acc> lse({b, hq, l}, Lay::Dense, random);
    for (Tensor<T> *tensor : {&q, &k, &v})
      tensor->fill(random, -1, 1);
    Batch batch(b, l, random);
    auto words = [&](int64_t rows) {
      return std::vector<int64_t>{1, bitsOf(0.3), window, 3,    0, rows,
                                  1, 3,           0,      rows, 1};
    };
    for (const Implementation &each : implementations()) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << each.name);
      KernelFn kernel = each.find("attention", Element<T>::dtype);
      // Cards have none yet.
      if (!kernel)
        continue;
      auto runOn = [&](Tensor<T> &q, Tensor<T> &k, Tensor<T> &v) {
        return run(kernel,
                   {q.buffer(), k.buffer(), v.buffer(), batch.places.buffer()},
                   {o.buffer(), lse.buffer()}, words(l));
      };
      int64_t spoiled, at;
      bool spoils = pickDocument(batch, random, at, spoiled);
      Tensor<T> badQ = q, badK = k, badV = v;
      for (Tensor<T> *tensor : {&badQ, &badK, &badV})
        if (spoils)
          spoilRows(*tensor, at, batch[at].begin(spoiled),
                    batch[at].end(spoiled));
      ASSERT_EQ(runOn(badQ, badK, badV), "");
      Tensor<T> others = o;
      ASSERT_EQ(runOn(q, k, v), "");
      if (spoils)
        expectOthersSame(others, o, at, batch[at], spoiled);
      for (int64_t i = 0; i < b; ++i) {
        for (int64_t n = 0; n < batch[i].count(); ++n) {
          int64_t begin = batch[i].begin(n), end = batch[i].end(n);
          Tensor<T> ownQ = rowsOf(q, i, begin, end),
                    ownK = rowsOf(k, i, begin, end),
                    ownV = rowsOf(v, i, begin, end),
                    got = rowsOf(o, i, begin, end), result = got;
          int64_t rows = ownQ.sizes[1];
          Tensor<Acc> ownLse({1, hq, rows}, Lay::Dense, random);
          std::vector<int64_t> attrs = words(rows);
          if (rows == 0)
            continue;
          ASSERT_EQ(
              run(implementations()[0].find("attention", Element<T>::dtype),
                  {ownQ.buffer(), ownK.buffer(), ownV.buffer()},
                  {result.buffer(), ownLse.buffer()}, attrs),
              "");
          expectNear(got, result, each.roundsFactors);
        }
        for (int64_t t = batch[i].tokens; t < l; ++t)
          for (int64_t h = 0; h < hq; ++h) {
            ASSERT_EQ(lse(i, h, t), -std::numeric_limits<Acc>::infinity());
            for (int64_t c = 0; c < dv; ++c)
              ASSERT_EQ(double(o(i, t, h, c)), 0);
          }
      }
      if (this->HasFatalFailure())
        return;
    }
  }
}

} // namespace
