//===- ScanWithTest.cpp - Scans of summaries with a combine of their own --===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A summary is an affine map of columns, S becomes A S + E with a matrix A, and
// the number of its tokens. It does not commute, and is taken modulo a prime:
// so all algorithms are exact, and must give what a plain fold gives.
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

#include <algorithm>
#include <cstring>

using namespace cp::test;

namespace {

constexpr int64_t prime = 1009, rows = 2, columns = 3, numTensors = 3;
constexpr int64_t perUnit = rows * rows + rows * columns + 1;

/// The sizes of a summary's tensors for so many units.
std::vector<Sizes> sizesOf(const Sizes &units) {
  std::vector<Sizes> sizes(3, units);
  sizes[0].insert(sizes[0].end(), {rows, rows});
  sizes[1].insert(sizes[1].end(), {rows, columns});
  return sizes;
}

//===----------------------------------------------------------------------===//
// The function that the runtime calls
//===----------------------------------------------------------------------===//

/// One buffer of a descriptor.
template <typename T> struct View {
  T *data;
  const int64_t *sizes, *strides;

  T &at(int64_t unit, int64_t row = 0, int64_t column = 0) const {
    return data[unit * strides[0] + (row ? row * strides[1] : 0) +
                (column ? column * strides[2] : 0)];
  }
};

template <typename T> T inField(T value) { return T(int64_t(value) % prime); }

template <typename T>
void combineUnit(const View<T> *left, const View<T> *right, const View<T> *out,
                 int64_t unit) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      T sum = right ? right[1].at(unit, row, column) : T(0);
      for (int64_t k = 0; right && k < rows; ++k)
        sum += right[0].at(unit, row, k) * left[1].at(unit, k, column);
      out[1].at(unit, row, column) = inField(sum);
    }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < rows; ++column) {
      T sum = right ? T(0) : T(row == column);
      for (int64_t k = 0; right && k < rows; ++k)
        sum += right[0].at(unit, row, k) * left[0].at(unit, k, column);
      out[0].at(unit, row, column) = inField(sum);
    }
  out[2].at(unit) =
      right ? inField(left[2].at(unit) + right[2].at(unit)) : T(0);
}

template <typename T>
void combineAs(cprt_context *context, const int64_t *desc,
               void *const *buffers) {
  static const cprt_tensor any[] = {{"summary", CPRT_VARIADIC}};
  static const cprt_signature signature = {"combine", any,     1, any,
                                           1,         nullptr, 0};
  cprt_buffer all[3 * numTensors];
  if (!cprt_read_call(context, &signature, desc, buffers, all, nullptr))
    return;
  std::vector<View<T>> views;
  for (int64_t i = 0; i < desc[0] + desc[1]; ++i)
    views.push_back(
        {static_cast<T *>(all[i].data), all[i].sizes, all[i].strides});
  bool hasInputs = desc[0] > 0;
  const View<T> *out = views.data() + desc[0];
  for (int64_t unit = 0; unit < out->sizes[0]; ++unit)
    combineUnit<T>(hasInputs ? views.data() : nullptr,
                   hasInputs ? views.data() + numTensors : nullptr, out, unit);
}

/// Whether the call has the form that cprt.h promises.
bool isAsPromised(const int64_t *desc) {
  if ((desc[0] != 0 && desc[0] != 2 * numTensors) || desc[1] != numTensors ||
      desc[2] != 0)
    return false;
  const int64_t *word = desc + 4;
  int64_t units = word[2];
  for (int64_t i = 0; i < desc[0] + desc[1]; ++i) {
    Sizes expected = sizesOf({units})[size_t(i % numTensors)];
    if (Sizes(word + 2, word + 2 + word[1]) != expected || word[0] != desc[4])
      return false;
    word += 2 + 2 * word[1];
  }
  return units > 0;
}

void combine(cprt_context *context, cprt_stream *, const int64_t *desc,
             void *const *buffers) {
  if (!isAsPromised(desc))
    return cprt_context_fail(context, CPRT_INVALID_ARGUMENT, "not as promised");
  if (desc[4] == CPRT_F32)
    combineAs<float>(context, desc, buffers);
  else
    combineAs<double>(context, desc, buffers);
}

//===----------------------------------------------------------------------===//
// What is expected
//===----------------------------------------------------------------------===//

/// The tensors of one summary.
using Summary = std::vector<Array>;

Summary emptySummary(const Sizes &units) {
  Summary summary;
  for (const Sizes &sizes : sizesOf(units))
    summary.emplace_back(sizes);
  return summary;
}

Summary identity(const Sizes &units) {
  Summary summary = emptySummary(units);
  for (size_t e = 0; e < summary[0].values.size(); ++e)
    summary[0].values[e] = e % (rows * rows) / rows == e % rows;
  return summary;
}

/// Written on whole arrays, in integers.
Summary folded(const Summary &left, const Summary &right) {
  Summary sum = left;
  size_t units = left[2].values.size();
  auto apply = [&](size_t unit, size_t tensor, size_t width, bool adds) {
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < width; ++column) {
        size_t at = unit * rows * width + row * width + column;
        int64_t value = adds ? int64_t(right[tensor].values[at]) : 0;
        for (size_t k = 0; k < rows; ++k)
          value +=
              int64_t(right[0].values[(unit * rows + row) * rows + k]) *
              int64_t(left[tensor].values[(unit * rows + k) * width + column]);
        sum[tensor].values[at] = double(value % prime);
      }
  };
  for (size_t unit = 0; unit < units; ++unit) {
    apply(unit, 0, rows, false);
    apply(unit, 1, columns, true);
    sum[2].values[unit] =
        double(int64_t(left[2].values[unit] + right[2].values[unit]) % prime);
  }
  return sum;
}

Summary randomSummary(RandomCase &c, const Sizes &units) {
  Summary summary = emptySummary(units);
  for (Array &tensor : summary)
    for (double &value : tensor.values)
      value = double(c.draw(0, prime - 1));
  return summary;
}

/// Units, and how they are scanned.
struct Problem {
  Sizes units;
  Way way;
  cprt_dtype dtype;
  bool hasGaps, hasTotal;
  int64_t ranks;

  int64_t parts() const { return way.isZigzag ? 2 * ranks : ranks; }
  int64_t perRank() const { return parts() / ranks; }
  /// By the order of the tokens.
  int64_t part(int64_t rank, int64_t slot) const {
    return slot == 0 ? rank : parts() - 1 - rank;
  }
  int64_t ownerOf(int64_t part) const {
    return part < ranks ? part : parts() - 1 - part;
  }
};

/// The prefix of each part, and the sum of all behind them.
std::vector<Summary> expectedSums(const Problem &problem,
                                  std::vector<Summary> parts) {
  if (problem.way.isReverse)
    std::reverse(parts.begin(), parts.end());
  std::vector<Summary> sums = {identity(problem.units)};
  for (const Summary &part : parts)
    sums.push_back(folded(sums.back(), part));
  if (problem.way.isReverse)
    std::reverse(sums.begin(), sums.end() - 1);
  return sums;
}

/// Counts pairs of parts on different ranks; in reverse a scan goes from the
/// last.
int64_t expectedBytes(const Problem &problem, int64_t rank) {
  int64_t units = product(problem.units), others = problem.ranks - 1;
  int64_t width = int64_t(cprt_dtype_size(problem.dtype)) * perUnit;
  int64_t all = units * width, last = problem.parts() - 1;
  int64_t slice =
      (units / problem.ranks + (rank < units % problem.ranks ? 1 : 0)) * width;
  auto sent = [&](int64_t distance) {
    int64_t count = 0;
    for (int64_t part = 0; part + distance <= last; ++part) {
      bool isReverse = problem.way.isReverse;
      int64_t from = isReverse ? last - part : part;
      int64_t to = isReverse ? from - distance : from + distance;
      count += problem.ownerOf(from) == rank && problem.ownerOf(to) != rank;
    }
    return count * all;
  };
  if (problem.way.algorithm == Gather)
    return problem.perRank() * others * all;
  if (problem.way.algorithm == Transposed)
    return problem.perRank() * (all - slice + others * slice) +
           (problem.hasTotal ? others * slice : 0);
  int64_t bytes = sent(1);
  for (int64_t k = 1; problem.way.algorithm == Doubling && k <= last; k *= 2)
    bytes += sent(k);
  int64_t end = problem.ownerOf(problem.way.isReverse ? 0 : last);
  return bytes + (problem.hasTotal && rank == end ? others * all : 0);
}

//===----------------------------------------------------------------------===//
// The runs
//===----------------------------------------------------------------------===//

/// One rank's call; gives its sums.
Summary scanOn(cprt_context *context, const Problem &problem,
               const Summary &own) {
  std::vector<Tensor> ins, outs;
  for (const Array &tensor : own)
    ins.emplace_back(problem.dtype, tensor, problem.hasGaps);
  for (const Array &tensor : own)
    outs.emplace_back(problem.dtype, tensor.sizes, problem.hasGaps);
  for (const Sizes &sizes : sizesOf(problem.units))
    if (problem.hasTotal)
      outs.emplace_back(problem.dtype, sizes, problem.hasGaps);
  Call call;
  for (Tensor &tensor : ins)
    call.in(tensor);
  for (Tensor &tensor : outs)
    call.out(tensor);
  call.attr(problem.way.algorithm).array({0});
  call.attr(int64_t(problem.units.size())).attr(problem.way.isZigzag);
  call.attr(problem.way.isReverse).attr(problem.hasTotal);
  call.runWith(combine, context);
  Summary sums;
  for (const Tensor &tensor : outs) {
    EXPECT_TRUE(tensor.gapsAreIntact());
    sums.push_back(tensor.read());
  }
  return sums;
}

void expectSums(const Problem &problem, const std::vector<Summary> &expected,
                const Summary &sums, int64_t rank) {
  for (int64_t slot = 0; slot < problem.perRank(); ++slot)
    for (size_t i = 0; i < numTensors; ++i) {
      Array got = problem.way.isZigzag ? everySecond(sums[i], slot) : sums[i];
      expectSameBits({got}, {expected[size_t(problem.part(rank, slot))][i]});
    }
  for (size_t i = 0; problem.hasTotal && i < numTensors; ++i)
    expectSameBits({sums[numTensors + i]}, {expected.back()[i]});
}

void check(RandomCase &c, const Problem &problem) {
  SCOPED_TRACE(testing::Message()
               << "algorithm " << problem.way.algorithm
               << (problem.way.isZigzag ? ", zigzag" : "")
               << (problem.way.isReverse ? ", in reverse" : "")
               << (problem.hasTotal ? ", total" : "") << ", "
               << product(problem.units) << " units");
  std::vector<Summary> parts;
  for (int64_t part = 0; part < problem.parts(); ++part)
    parts.push_back(randomSummary(c, problem.units));
  std::vector<Summary> expected = expectedSums(problem, parts);
  World world({problem.ranks});
  std::vector<Summary> sums(size_t(problem.ranks));
  world.run([&](int64_t rank, cprt_context *context) {
    Summary own = parts[size_t(rank)];
    for (size_t i = 0; problem.way.isZigzag && i < numTensors; ++i)
      own[i] = inTurn(own[i], parts[size_t(problem.part(rank, 1))][i]);
    sums[size_t(rank)] = scanOn(context, problem, own);
  });
  ASSERT_EQ(world.failures(), "");
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    SCOPED_TRACE(testing::Message() << "rank " << rank);
    expectSums(problem, expected, sums[size_t(rank)], rank);
    EXPECT_EQ(world.counter(rank, "scan_state", 1).bytes_sent,
              expectedBytes(problem, rank));
  }
}

/// In all ways.
void checkAll(RandomCase &c, const Sizes &units) {
  for (Algorithm algorithm : algorithms)
    for (bool isZigzag : {false, true})
      for (bool isReverse : {false, true})
        check(c, {units,
                  {algorithm, isZigzag, isReverse},
                  c.floatType(),
                  c.draw(0, 1) == 1,
                  c.draw(0, 1) == 1,
                  c.groupSize()});
}

} // namespace

TEST(ScanWith, AllAlgorithmsOnOneToNineRanks) {
  forEachLine({1, 2, 3, 4, 5, 6, 7, 8, 9},
              [](RandomCase &c) { checkAll(c, c.anySizes(c.draw(1, 3))); });
}

/// Many blocks of a pipeline, slices without a unit, and no units at all.
TEST(ScanWith, ManyUnitsAndFew) {
  forEachLine({2, 5}, [](RandomCase &c) {
    checkAll(c, {3, 1500});
    checkAll(c, {1});
    checkAll(c, {2, 0});
  });
}

/// A summary that is one unit has no batch.
TEST(ScanWith, OneUnitWithoutDimensions) {
  forEachLine({1, 3}, [](RandomCase &c) {
    for (Algorithm algorithm : algorithms)
      check(c, {{}, {algorithm}, CPRT_F64, false, true, c.groupSize()});
  });
}

TEST(ScanWith, AllocatesInItsFirstCallOnly) {
  for (Algorithm algorithm : algorithms) {
    World world({4});
    world.run([&](int64_t, cprt_context *context) {
      Problem problem = {{2, 30}, {algorithm, true}, CPRT_F64, false, true, 4};
      Summary own = emptySummary({4, 30});
      scanOn(context, problem, own);
      int64_t first = cprt_context_allocations(context);
      EXPECT_GT(first, 0);
      scanOn(context, problem, own);
      EXPECT_EQ(cprt_context_allocations(context), first);
    });
    EXPECT_EQ(world.failures(), "");
  }
}

TEST(ScanWith, RefusesWhatItCannotScan) {
  struct Bad {
    Sizes first, second;
    int64_t batchDims, order;
    cprt_op *function;
    const char *text;
  };
  const Bad cases[] = {
      {{2, 3},
       {3, 3},
       1,
       0,
       combine,
       "input 1 is f32[3, 3] and input 0 is f32[2, 3], expected one type, and "
       "that the first 1 sizes agree"},
      {{2, 3}, {2}, 2, 0, combine, "the first 2 sizes agree"},
      {{2, 3}, {2, 3}, 17, 0, combine, "attribute 'batch_dims' is 17"},
      {{2, 3}, {2, 3}, 1, 0, nullptr, "the function that combines is null"},
      {{3, 3}, {3, 3}, 1, 1, combine, "expected an even dim 0"},
      {{2, 3}, {2, 3}, 0, 1, combine, "expected an even dim 0"},
      {{2, 3}, {2, 3}, 1, 2, combine, "reorder the sequence first"},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor first(CPRT_F32, bad.first), second(CPRT_F32, bad.second);
      Tensor firstOut(CPRT_F32, bad.first), secondOut(CPRT_F32, bad.second);
      Call call;
      call.in(first).in(second).out(firstOut).out(secondOut);
      call.attr(0).array({0}).attr(bad.batchDims).attr(bad.order);
      call.attr(0).attr(0).runWith(bad.function, context);
      EXPECT_NE(std::strstr(cprt_context_message(context), bad.text), nullptr)
          << cprt_context_message(context);
    });
  }
}

/// Fails on one rank.
static void combineOrFail(cprt_context *context, cprt_stream *stream,
                          const int64_t *desc, void *const *buffers) {
  if (cprt_context_rank(context) == 1)
    return cprt_context_fail(context, CPRT_UNSUPPORTED, "not on this rank");
  combine(context, stream, desc, buffers);
}

/// Its failure is the rank's, and reaches the others, at their next call at the
/// latest.
TEST(ScanWith, AFailureOfTheFunction) {
  World world({3});
  world.run([&](int64_t rank, cprt_context *context) {
    Problem problem = {{2}, {Chain}, CPRT_F64, false, true, 3};
    Call call;
    std::vector<Tensor> tensors;
    for (int copy = 0; copy < 3; ++copy)
      for (const Sizes &sizes : sizesOf(problem.units))
        tensors.emplace_back(CPRT_F64, sizes);
    for (size_t i = 0; i < tensors.size(); ++i)
      i < numTensors ? call.in(tensors[i]) : call.out(tensors[i]);
    call.attr(Chain).array({0}).attr(1).attr(0).attr(0).attr(1);
    for (int step = 0; step < 2; ++step)
      call.runWith(combineOrFail, context);
    EXPECT_EQ(cprt_context_status(context),
              rank == 1 ? CPRT_UNSUPPORTED : CPRT_PEER_FAILED);
    EXPECT_NE(std::strstr(cprt_context_message(context), "not on this rank"),
              nullptr);
  });
}

/// The sizes of what has no elements are checked too.
TEST(ScanWith, RefusesUnitsThatNoMemoryHolds) {
  constexpr int64_t numBuffers = 4, huge = int64_t(1) << 58;
  Sizes table = {numBuffers, numBuffers, 7, 0};
  for (int64_t i = 0; i < 2 * numBuffers; ++i)
    table.insert(table.end(), {CPRT_F64, 2, 0, huge, huge, 1});
  // Chain, axes [0], batch_dims 1.
  table.insert(table.end(), {0, 1, 0, 1, 0, 0, 0});
  std::vector<void *> buffers(2 * numBuffers);
  World world({1});
  world.run([&](int64_t, cprt_context *context) {
    cprt_scan_state_with(context, nullptr, table.data(), buffers.data(),
                         combine);
    EXPECT_NE(std::strstr(cprt_context_message(context),
                          "the summary's bytes do not fit 63 bits"),
              nullptr)
        << cprt_context_message(context);
  });
}

/// No input is a mistake of the program's, and no summary of nothing.
TEST(ScanWith, NeedsASummary) {
  World world({1});
  world.run([&](int64_t, cprt_context *context) {
    Call call;
    call.attr(Chain).array({0}).attr(0).attr(0).attr(0).attr(0);
    call.runWith(combine, context);
    EXPECT_NE(std::strstr(cprt_context_message(context),
                          "found 0 inputs and 0 outputs, expected 1 and 1"),
              nullptr)
        << cprt_context_message(context);
  });
}
