//===- SsdSupport.cpp - Random scans and their quadratic form -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SsdSupport.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace cp::kernels::test {

SsdShape pickShape(Random &random) {
  SsdShape s;
  s.b = pick(random, 1, 2);
  s.l = pick(random, 0, 1) ? pick(random, 1, 20) : pick(random, 60, 150);
  s.g = pick(random, 1, 3);
  s.h = s.g * pick(random, 1, 3);
  s.p = pick(random, 1, 40);
  s.n = pick(random, 1, 40);
  const int64_t chunks[] = {1, 7, 16, 64, 100, 256};
  s.chunk = chunks[pick(random, 0, 5)];
  return s;
}

template <typename T>
SsdProblem<T>::SsdProblem(const SsdShape &shape, Fading fading, Random &random)
    : s(shape),
      dtMax(pick(random, 0, 1) ? std::numeric_limits<double>::infinity() : 2),
      dtMin(pick(random, 0, 1) ? 0 : 0.05), hasD(pick(random, 0, 1)),
      hasBias(pick(random, 0, 1)), hasInitial(pick(random, 0, 1)),
      x({s.b, s.l, s.h, s.p}, pickLay(random), random),
      dt({s.b, s.l, s.h}, pickLay(random), random),
      aLog({s.h}, pickLay(random), random),
      B({s.b, s.l, s.g, s.n}, pickLay(random), random),
      C({s.b, s.l, s.g, s.n}, pickLay(random), random),
      D(pick(random, 0, 1) ? std::vector<int64_t>{s.h}
                           : std::vector<int64_t>{s.h, s.p},
        pickLay(random), random),
      bias({s.h}, pickLay(random), random),
      initial({s.b, s.h, s.p, s.n}, pickLay(random), random),
      y(x.sizes, pickLay(random), random),
      finalState(initial.sizes, pickLay(random), random) {
  for (Tensor<T> *tensor : {&x, &B, &C, &D, &bias, &initial})
    tensor->fill(random, -1, 1);
  dt.fill(random, -4, 3);
  const double low[] = {-12, -4, 1}, high[] = {-8, 1, 4};
  aLog.fill(random, low[int(fading)], high[int(fading)]);
}

template <typename T>
std::string SsdProblem<T>::run(KernelFn kernel, Buffer y) {
  std::vector<Buffer> ins = {x.buffer(), dt.buffer(), aLog.buffer(), B.buffer(),
                             C.buffer()};
  ins.push_back(hasD ? D.buffer() : absent);
  ins.push_back(hasBias ? bias.buffer() : absent);
  ins.push_back(hasInitial ? initial.buffer() : absent);
  ins.push_back(documents.isEmpty() ? absent : documents.places.buffer());
  return test::run(kernel, ins, {y, finalState.buffer()},
                   {s.chunk, bitsOf(dtMax), bitsOf(dtMin)});
}

template <typename T> void SsdProblem<T>::prepare() {
  deltas.assign(size_t(s.b * s.l * s.h), 0);
  sums.assign(size_t(s.b * (s.l + 1) * s.h), 0);
  dots.assign(size_t(s.b * s.g * s.l * s.l), {});
  for (int64_t b = 0; b < s.b; ++b) {
    for (int64_t t = 0; t < s.l; ++t) {
      for (int64_t h = 0; h < s.h; ++h) {
        double raw = dt(b, t, h) + (hasBias ? double(bias(h)) : 0);
        double step =
            std::fmin(std::fmax(std::log1p(std::exp(raw)), dtMin), dtMax);
        if (!documents.hasToken(b, t))
          step = 0;
        deltas[size_t((b * s.l + t) * s.h + h)] = step;
        sums[size_t((b * (s.l + 1) + t + 1) * s.h + h)] =
            sums[size_t((b * (s.l + 1) + t) * s.h + h)] -
            std::exp(double(aLog(h))) * step;
      }
      for (int64_t g = 0; g < s.g; ++g)
        for (int64_t r = 0; r <= t; ++r)
          for (int64_t j = 0; j < s.n; ++j)
            dots[size_t(((b * s.g + g) * s.l + t) * s.l + r)].add(
                double(C(b, t, g, j)) * double(B(b, r, g, j)));
    }
  }
}

template <typename T>
double SsdProblem<T>::slack(int64_t b, int64_t end, int64_t h) const {
  if (!std::is_same_v<T, double>)
    return 1;
  int64_t first = std::max<int64_t>(0, end - std::max<int64_t>(s.chunk, 64));
  return 1 - logDecay(b, first, end, h) / 100;
}

template <typename T>
Expected SsdProblem<T>::expectedY(int64_t b, int64_t t, int64_t h, int64_t i) {
  Expected sum;
  int64_t g = h * s.g / s.h;
  auto add = [&](double factor, const Expected &term) {
    sum.value += factor * term.value;
    sum.magnitude += std::fabs(factor) * term.magnitude;
  };
  if (!documents.hasToken(b, t))
    return sum;
  int64_t begin = documents.beginAt(b, t);
  for (int64_t r = std::max<int64_t>(begin, 0); r <= t; ++r)
    add(std::exp(logDecay(b, r + 1, t + 1, h)) * delta(b, r, h) *
            double(x(b, r, h, i)),
        dots[size_t(((b * s.g + g) * s.l + t) * s.l + r)]);
  for (int64_t j = 0; j < s.n && hasInitial && begin < 0; ++j)
    sum.add(std::exp(logDecay(b, 0, t + 1, h)) * double(initial(b, h, i, j)) *
            double(C(b, t, g, j)));
  if (hasD)
    sum.add(double(D.sizes.size() == 1 ? D(h) : D(h, i)) *
            double(x(b, t, h, i)));
  sum.magnitude *= slack(b, t + 1, h);
  return sum;
}

template <typename T>
Expected SsdProblem<T>::expectedState(int64_t b, int64_t h, int64_t i,
                                      int64_t j) {
  Expected sum;
  int64_t g = h * s.g / s.h, last = s.l - 1;
  while (last >= 0 && !documents.hasToken(b, last))
    --last;
  int64_t begin = last < 0 ? -1 : documents.beginAt(b, last);
  for (int64_t r = std::max<int64_t>(begin, 0); r <= last; ++r)
    sum.add(std::exp(logDecay(b, r + 1, s.l, h)) * delta(b, r, h) *
            double(x(b, r, h, i)) * double(B(b, r, g, j)));
  if (hasInitial && begin < 0)
    sum.add(std::exp(logDecay(b, 0, s.l, h)) * double(initial(b, h, i, j)));
  sum.magnitude *= slack(b, s.l, h);
  return sum;
}

template <typename T> void expectMatches(SsdProblem<T> &problem) {
  const SsdShape &s = problem.s;
  EXPECT_TRUE(problem.y.isIntact());
  EXPECT_TRUE(problem.finalState.isIntact());
  double errors = 0, squares = 0;
  for (int64_t b = 0; b < s.b; ++b) {
    for (int64_t h = 0; h < s.h; ++h) {
      for (int64_t i = 0; i < s.p; ++i) {
        for (int64_t t = 0; t < s.l; ++t) {
          Expected expected = problem.expectedY(b, t, h, i);
          double got = problem.y(b, t, h, i);
          ASSERT_TRUE(problem.isClose(problem.y(b, t, h, i), expected,
                                      problem.roundingsOfY))
              << "y " << b << ' ' << t << ' ' << h << ' ' << i << " got " << got
              << " for " << expected.value;
          errors += (got - expected.value) * (got - expected.value);
          squares += expected.value * expected.value;
        }
        for (int64_t j = 0; j < s.n; ++j)
          ASSERT_TRUE(
              problem.isCloseState(problem.finalState(b, h, i, j), b, h, i, j))
              << "state " << b << ' ' << h << ' ' << i << ' ' << j;
      }
    }
  }
  // Few elements may cancel by chance.
  if (problem.roundsFactors && problem.y.count() >= 1000) {
    EXPECT_LE(std::sqrt(errors / squares), 1.0 / 256);
  }
}

template struct SsdProblem<float>;
template struct SsdProblem<double>;
template struct SsdProblem<BFloat16>;
template void expectMatches(SsdProblem<float> &);
template void expectMatches(SsdProblem<double> &);
template void expectMatches(SsdProblem<BFloat16> &);

} // namespace cp::kernels::test
