//===- ScanSupport.h - What the tests of scans share ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_SCANSUPPORT_H
#define CP_UNITTESTS_RUNTIME_SCANSUPPORT_H

#include "RandomCase.h"

namespace cp::test {

/// As in the descriptor.
enum Algorithm : int64_t { Chain, Gather, Doubling, Pipelined, Transposed };
inline constexpr Algorithm algorithms[] = {Chain, Gather, Doubling, Pipelined,
                                           Transposed};

struct Way {
  Algorithm algorithm;
  bool isZigzag = false, isReverse = false;
};

/// A decay and a state for each part of a sequence: what a scan takes or gives.
struct Summaries {
  std::vector<Array> decays, states;
};

/// The sizes and the type of one part's summary.
struct Sample {
  Sizes decay, state;
  bool hasGaps;
  cprt_dtype dtype = CPRT_F32;

  int64_t width() const { return int64_t(cprt_dtype_size(dtype)); }
  int64_t bytes() const { return (product(decay) + product(state)) * width(); }
};
Sample randomSample(RandomCase &c);

/// With resets, which are zero decays, and with zeros of both signs.
Summaries randomSummaries(RandomCase &c, const Sample &sample, int64_t parts);

/// One scan with buffers of these contents; the results take their place, and
/// that of `total`, if it is given.
void scan(cprt_context *context, const Sample &sample, const Sizes &axes,
          Way way, Array &decays, Array &states, Summaries *total = nullptr);

/// The last part first.
Summaries turned(Summaries summaries);

/// Two arrays as one, in turn along dimension 0.
Array inTurn(Array first, Array second);
/// What inTurn made one of two.
Array everySecond(Array both, int64_t slot);

/// Also tells zeros of different signs apart.
void expectSameBits(const std::vector<Array> &a, const std::vector<Array> &b);

/// Runs `body` on lines of so many ranks; where CP_TEST_ONE_LINE is set on that
/// one of them which the seed says, for who tries many seeds.
void forEachLine(const Sizes &lengths,
                 const std::function<void(RandomCase &)> &body);

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_SCANSUPPORT_H
