//===- AttentionTilesTest.cpp - Attention on matrix units -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of models, whose tiles are copied 16 bytes at a time, in the orders
// that ranks have of a sequence.
//
//===----------------------------------------------------------------------===//

#include "AttentionSupport.h"
#include "Forms.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

using Problem = AttentionProblem<BFloat16>;

KernelFn onCard() {
  const Implementation &cuda = implementations().back();
  EXPECT_STREQ(cuda.name, "cuda");
  return cuda.find("attention", DType::BF16);
}

AttentionPart partOf(std::vector<std::pair<int64_t, int64_t>> runs) {
  AttentionPart part;
  for (auto [first, length] : runs)
    part.append(first, length, 1);
  return part;
}
AttentionPart whole(int64_t length) {
  return length ? partOf({{0, length}}) : AttentionPart();
}

/// A rank's tokens of a zigzag order, and all keys.
AttentionShape zigzag(int64_t hkv, int64_t hq, int64_t channels) {
  return {1,          hkv,      hq,
          channels,   channels, partOf({{150, 150}, {750, 150}}),
          whole(900), {},       0.1};
}

/// Where keys are wider than 128 channels warpgroups do not serve.
bool isWide(const Problem &problem) {
  return std::max(problem.d, problem.dv) > 128;
}

void checkForm(Problem &problem) {
  using Acc = Problem::Acc;
  Random random(1);
  Tensor<Acc> sums(problem.o.sizes, Lay::Gaps, random);
  int64_t before = numRepairs();
  ASSERT_EQ(problem.run(onCard()), "");
  problem.expectMatches(problem.o, true);
  ASSERT_EQ(problem.run(onCard(), sums.buffer()), "");
  EXPECT_EQ(numRepairs(), before);
  problem.expectMatches(sums, true);
}

/// `plain`: warpgroups do not serve, or there is nothing to do.
void check(const Problem &problem, bool plain = false) {
  inEachForm(
      [&] {
        Problem mine = problem;
        checkForm(mine);
      },
      plain);
}

/// Documents that begin in the sequence.
void drawWholeDocuments(Problem &problem, Random &random) {
  auto beginsInFront = [&] {
    for (int64_t i = 0; i < problem.b; ++i)
      for (int64_t row = 0; row < problem.queries.size(); ++row)
        if (problem.places(i, row) > problem.queries.positions[size_t(row)])
          return true;
    return false;
  };
  do {
    problem.documents.clear();
    problem.drawDocuments(random);
  } while (beginsInFront());
}

/// Whole tiles and rests, one head of keys and several, of both widths and
/// between, and channels of values that are not those of keys; each with
/// documents too.
template <typename Fn> void forEachModelShape(Fn fn) {
  const AttentionShape shapes[] = {
      {1, 1, 2, 128, 128, whole(200), whole(200), {}, 0.1},
      {2, 2, 2, 64, 64, whole(128), whole(256), {}, 0.125},
      {1, 1, 1, 80, 80, whole(190), whole(190), {true, 70}, 0.11},
      {1, 1, 3, 96, 40, whole(130), whole(333), {false, 0}, 0.1},
      zigzag(1, 1, 64),
      {1, 1, 2, 256, 256, whole(150), whole(150), {}, 0.07},
      {1, 1, 1, 160, 160, whole(130), whole(210), {true, 70}, 0.09},
      {1, 1, 1, 192, 128, whole(70), whole(140), {false, 0}, 0.09},
      {2, 2, 4, 131, 197, whole(70), whole(70), {}, 0.1},
  };
  for (const AttentionShape &shape : shapes)
    for (bool hasDocuments : {false, true}) {
      if (hasDocuments && !shape.mask.causal)
        continue;
      SCOPED_TRACE(testing::Message()
                   << shape.queries.size() << " queries, " << shape.d
                   << " channels, " << hasDocuments);
      Random random(3);
      Problem problem(shape, random);
      if (hasDocuments)
        drawWholeDocuments(problem, random);
      fn(problem);
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(AttentionTilesTest, ModelShapes) {
  forEachModelShape(
      [](const Problem &problem) { check(problem, isWide(problem)); });
}

/// Of one key alone something is added up, which every query that sees it must
/// find with its own weight.
void checkOneValueAtATime(int64_t channels) {
  SCOPED_TRACE(testing::Message() << channels << " channels");
  Random random(4);
  const Problem drawn(
      {1, 1, 1, channels, channels, whole(70), whole(140), {}, 0.1}, random);
  for (int64_t key : {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 65, 69}) {
    SCOPED_TRACE(testing::Message() << "key " << key);
    Problem problem = drawn;
    for (int64_t other = 0; other < problem.keys.size(); ++other)
      for (int64_t c = 0; c < problem.dv && other != key; ++c)
        problem.v(0, other, 0, c) = BFloat16(0.f);
    check(problem, isWide(problem));
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(AttentionTilesTest, OneValueAtATime) {
  for (int64_t channels : {128, 256})
    checkOneValueAtATime(channels);
}

/// Distance from the definition over the definition's norm.
double errorOf(Problem &problem) {
  double error = 0, norm = 0;
  for (int64_t h = 0; h < problem.hq; ++h)
    for (int64_t query = 0; query < problem.queries.size(); ++query) {
      Problem::Row row = problem.row(0, h, query);
      for (int64_t c = 0; c < problem.dv; ++c) {
        double expected = problem.expectedO(row, 0, h, c, false).value;
        error += std::pow(double(problem.o(0, query, h, c)) - expected, 2);
        norm += expected * expected;
      }
    }
  return std::sqrt(error / norm);
}

/// Weights are rounded to bf16, as o is.
TEST(AttentionTilesTest, IsAtMostTwiceAsFarAsOnProcessors) {
  for (double scale : {0.02, 0.2, 1.0}) {
    SCOPED_TRACE(testing::Message() << "scale " << scale);
    Random random(5);
    Problem problem({1, 1, 1, 64, 64, whole(300), whole(300), {}, scale},
                    random);
    Problem plain = problem;
    ASSERT_EQ(
        plain.run(findCpuKernel("attention", DType::BF16, KernelSet::Fast)),
        "");
    inEachForm([&] {
      ASSERT_EQ(problem.run(onCard()), "");
      double error = errorOf(problem);
      EXPECT_LE(error, 2 * errorOf(plain));
      EXPECT_GT(error, 0);
    });
  }
}

/// One value that is not finite: it reaches its channel of the queries that see
/// it; other queries have the same bits, and other channels what they should.
void expectWhoSeesItIsSpoilt(float value, int64_t channels) {
  Random random(6);
  Problem problem(zigzag(1, 1, channels), random);
  problem.drawDocuments(random);
  Problem bad = problem;
  const int64_t key = 160, channel = channels - 55;
  bad.v(0, key, 0, channel) = BFloat16(value);
  ASSERT_EQ(problem.run(onCard()), "");
  int64_t before = numRepairs();
  ASSERT_EQ(bad.run(onCard()), "");
  EXPECT_EQ(numRepairs() > before, countsRepairs());
  int64_t seen = 0;
  for (int64_t query = 0; query < bad.queries.size(); ++query) {
    bool sees = bad.isSeen(0, query, key);
    seen += sees;
    if (!sees)
      ASSERT_EQ(bad.lse(0, 0, query), problem.lse(0, 0, query));
    for (int64_t c = 0; c < bad.dv; ++c) {
      auto got = double(bad.o(0, query, 0, c));
      auto other = double(problem.o(0, query, 0, c));
      if (sees && c == channel)
        ASSERT_FALSE(std::isfinite(got)) << query;
      else if (sees)
        ASSERT_NEAR(got, other, 0.02) << query << ' ' << c;
      else
        ASSERT_EQ(got, other) << query << ' ' << c;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(AttentionTilesTest, OneValueThatIsNotFinite) {
  for (float value : {NAN, INFINITY})
    for (int64_t channels : {64, 192})
      inEachForm([=] { expectWhoSeesItIsSpoilt(value, channels); },
                 channels > 128);
}

/// The cotangents of a problem, by a kernel, of q, k and v, and of what forward
/// gave rounded to bf16.
template <typename T> struct Cotangents {
  using Acc = AccumulatorOf<T>;
  Tensor<T> dq;
  Tensor<Acc> dk, dv;
  std::string message;

  /// Where `spoilt` is a row of queries, channel 9 of its dout is no number. A
  /// block's kernel adds to the numbers that dk and dv have, in place.
  Cotangents(Problem &problem, KernelFn kernel, uint64_t seed,
             int64_t spoilt = -1, bool isBlock = false) {
    Random random(seed);
    auto like = [&](auto &other) {
      Tensor<T> tensor(other.sizes, Lay::Dense, random);
      for (int64_t i = 0; i < other.count(); ++i)
        tensor[i] = T(float(other[i]));
      return tensor;
    };
    Tensor<T> q = like(problem.q), k = like(problem.k), v = like(problem.v),
              out = like(problem.o);
    Tensor<Acc> lse(problem.lse.sizes, Lay::Dense, random);
    for (int64_t i = 0; i < lse.count(); ++i)
      lse[i] = problem.lse[i];
    Tensor<BFloat16> drawn(problem.o.sizes, Lay::Dense, random);
    drawn.fill(random, -1, 1);
    if (spoilt >= 0)
      drawn(0, spoilt, 0, 9) = BFloat16(NAN);
    Tensor<T> dout = like(drawn);
    Tensor<int64_t> positions({problem.queries.size()}, Lay::Dense, random);
    for (int64_t i = 0; i < positions.count(); ++i)
      positions[i] = problem.queries.positions[size_t(i)];
    dq = Tensor<T>(q.sizes, Lay::Dense, random);
    dk = Tensor<Acc>(k.sizes, Lay::Dense, random);
    dv = Tensor<Acc>(v.sizes, Lay::Dense, random);
    // A result that is not stored is a number.
    dq.fill(random, 5, 6);
    dk.fill(random, 5, 6);
    dv.fill(random, 5, 6);
    std::vector<Buffer> ins = {
        q.buffer(),
        k.buffer(),
        v.buffer(),
        out.buffer(),
        lse.buffer(),
        dout.buffer(),
        absent,
        problem.documents.empty() ? absent : problem.places.buffer(),
        problem.mask.causal ? positions.buffer() : absent};
    std::vector<int64_t> attrs = {problem.mask.causal, bitsOf(problem.scale),
                                  problem.mask.window};
    if (isBlock) {
      ins.insert(ins.end(), {absent, dk.buffer(), dv.buffer()});
      append(attrs, problem.keys.runs);
    }
    message = run(kernel, ins, {dq.buffer(), dk.buffer(), dv.buffer()}, attrs);
  }
};

template <typename A, typename B> double distance(Tensor<A> &a, Tensor<B> &b) {
  double error = 0, norm = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    error += std::pow(double(a[i]) - double(b[i]), 2);
    norm += double(b[i]) * double(b[i]);
  }
  return norm ? std::sqrt(error / norm) : error;
}

/// In each form, and of wide heads on cards with so many KiB of shared memory:
/// sm_80 has 163, which are room for one stage, sm_86 has 99, for none.
template <typename Fn>
void inEachFormOfCotangents(bool isWide, std::vector<size_t> memories, Fn fn) {
  inEachForm(fn, isWide);
  for (size_t kilobytes : memories) {
    WithSharedMemory memory(kilobytes << 10);
    SCOPED_TRACE(testing::Message() << kilobytes << " KiB of shared memory");
    if (isWide && memory.isLimited())
      fn();
  }
}

/// Beside the plain kernel in f64 on the same numbers.
TEST(AttentionTilesTest, CotangentsOfModelShapes) {
  forEachModelShape([](Problem &problem) {
    ASSERT_EQ(problem.run(onCard()), "");
    Cotangents<double> plain(
        problem, plainImplementation().find("attention_grad", DType::F64), 10);
    ASSERT_EQ(plain.message, "");
    inEachFormOfCotangents(isWide(problem), {163, 99}, [&] {
      int64_t before = numRepairs();
      Cotangents<BFloat16> got(
          problem, implementations().back().find("attention_grad", DType::BF16),
          10);
      ASSERT_EQ(got.message, "");
      EXPECT_EQ(numRepairs(), before);
      EXPECT_LE(distance(got.dq, plain.dq), 1.0 / 256);
      EXPECT_LE(distance(got.dk, plain.dk), 1.0 / 256);
      EXPECT_LE(distance(got.dv, plain.dv), 1.0 / 256);
      EXPECT_GT(distance(got.dv, plain.dv), 0);
    });
  });
}

/// A number of one key, and of one query, that is none: cotangents of what
/// has nothing to do with them have the same bits.
void expectCotangentsOfOthersAreClean(int64_t channels) {
  KernelFn kernel =
      implementations().back().find("attention_grad", DType::BF16);
  Random random(11);
  Problem problem(zigzag(1, 1, channels), random);
  constexpr int64_t badKey = 160, badQuery = 20, channel = 9;
  do
    drawWholeDocuments(problem, random);
  while (!problem.isSeen(0, badQuery, badKey));
  ASSERT_EQ(problem.run(onCard()), "");
  enum { OfKey, OfQuery, OfResult };
  Cotangents<BFloat16> clean(problem, kernel, 12);
  for (int of : {OfKey, OfQuery, OfResult}) {
    SCOPED_TRACE(of);
    bool isKey = of == OfKey;
    Problem bad = problem;
    if (of != OfResult)
      (isKey ? bad.k(0, badKey, 0, channel) : bad.q(0, badQuery, 0, channel)) =
          BFloat16(NAN);
    int64_t before = numRepairs();
    Cotangents<BFloat16> got(bad, kernel, 12, of == OfResult ? badQuery : -1);
    EXPECT_EQ(numRepairs() > before, countsRepairs());
    ASSERT_EQ(clean.message + got.message, "");
    int64_t spoilt = 0;
    auto expectSame = [&](auto &tensor, auto &expected, int64_t row,
                          bool isSpoilt) {
      bool isFinite = true;
      for (int64_t c = 0; c < channels; ++c) {
        isFinite &= std::isfinite(double(tensor(0, row, 0, c)));
        if (!isSpoilt)
          EXPECT_EQ(double(tensor(0, row, 0, c)),
                    double(expected(0, row, 0, c)))
              << row << ' ' << c;
      }
      EXPECT_EQ(isFinite, !isSpoilt) << row;
      spoilt += isSpoilt;
    };
    for (int64_t query = 0; query < bad.queries.size(); ++query)
      expectSame(got.dq, clean.dq, query,
                 isKey ? bad.isSeen(0, query, badKey) : query == badQuery);
    for (int64_t key = 0; key < bad.keys.size(); ++key) {
      bool isSpoilt = isKey ? key == badKey : bad.isSeen(0, badQuery, key);
      expectSame(got.dk, clean.dk, key, isSpoilt);
      expectSame(got.dv, clean.dv, key, isSpoilt);
    }
    EXPECT_GT(spoilt, 2);
  }
}

TEST(AttentionTilesTest, CotangentsOfWhatIsNotFinite) {
  for (int64_t channels : {64, 160})
    inEachFormOfCotangents(channels > 128, {163},
                           [=] { expectCotangentsOfOthersAreClean(channels); });
}

/// Where a row is formed by itself, what it is added to is still what it was.
void expectCotangentsAreAddedOnce(int64_t channels) {
  constexpr int64_t badQuery = 20, channel = 9;
  const Implementation &cuda = implementations().back();
  Random random(13);
  Problem problem(zigzag(1, 1, channels), random);
  ASSERT_EQ(problem.run(onCard()), "");
  KernelFn whole = cuda.find("attention_grad", DType::BF16);
  KernelFn block = cuda.find("attention_grad_block", DType::BF16);
  Cotangents<BFloat16> alone(problem, whole, 14, badQuery);
  Cotangents<BFloat16> added(problem, block, 14, badQuery, true);
  ASSERT_EQ(alone.message + added.message, "");
  int64_t spoilt = 0;
  for (int64_t key = 0; key < problem.keys.size(); ++key)
    for (int64_t c = 0; c < problem.dv; ++c) {
      double rest = added.dv(0, key, 0, c) - alone.dv(0, key, 0, c);
      spoilt += std::isnan(rest);
      if (c == channel && problem.isSeen(0, badQuery, key))
        ASSERT_TRUE(std::isnan(rest));
      else
        // What was there is between 5 and 6.
        ASSERT_TRUE(rest > 4.99 && rest < 6.01) << key << ' ' << c;
    }
  EXPECT_GT(spoilt, 10);
}

TEST(AttentionTilesTest, CotangentsAreAddedInPlaceOnce) {
  for (int64_t channels : {64, 160})
    inEachForm([=] { expectCotangentsAreAddedOnce(channels); }, channels > 128);
}

/// Further on than tiles count, and as far as they do.
TEST(AttentionTilesTest, PositionsFarAway) {
  for (int64_t first : {int64_t(0x7fffffff) - 202, int64_t(3) << 31}) {
    SCOPED_TRACE(testing::Message() << "from " << first);
    Random random(7);
    AttentionPart part = partOf({{first, 200}});
    Problem problem({1, 1, 1, 16, 16, part, part, {true, 90}, 0.3}, random);
    // Farther than 32 bits count.
    check(problem, first > 0x7fffffff);
  }
}

/// Without keys there is nothing, and without queries nothing to do.
TEST(AttentionTilesTest, NoKeysOrQueries) {
  Random random(8);
  Problem none({1, 1, 1, 64, 64, whole(70), whole(0), {}, 0.1}, random);
  check(none);
  Problem nobody({1, 1, 1, 64, 64, whole(0), whole(70), {}, 0.1}, random);
  check(nobody, true);
}

} // namespace
