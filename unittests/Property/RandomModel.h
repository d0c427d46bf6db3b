//===- RandomModel.h - Models and shardings drawn at random -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_PROPERTY_RANDOMMODEL_H
#define CP_UNITTESTS_PROPERTY_RANDOMMODEL_H

#include "../Execution/TestModel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cp::test {

/// Numbers that follow from a seed, the same on every machine.
class Dice {
public:
  explicit Dice(uint64_t seed) : seed(seed) {}
  /// Uniform in [low, high].
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability);
  template <typename T> T oneOf(const std::vector<T> &values) {
    return values[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  uint64_t seed, drawn = 0;
};

/// How a case is sharded, and what a model must be to be shardable so: every
/// number of heads a multiple of all ranks, as a rule the sequence of what the
/// cuts need.
struct RandomSharding {
  cp::Sharding value;
  /// Over how many ranks heads may be cut, by strategy and tensor parallelism.
  std::vector<int64_t> headParts;
  /// What the cuts make the length of the sequence a multiple of.
  int64_t sequenceMultiple = 1;
  bool hasTwoAxes = false;
};
RandomSharding drawSharding(Dice &dice);

/// A model with a few layers drawn from mixers, scans, attention, MLPs and
/// norms, as text. It gives its last activations and the final states of some
/// scans.
struct RandomModel {
  std::string text, dtype;
  /// The layout of an argument that comes in parts of sizes of their own, as it
  /// stands in the text behind a type; empty where there is none.
  std::string sizes;
  Decay decay = Decay::AsPublished;
  /// Whether rows hold several documents.
  bool isPacked = false;
  /// Whether keys travel over one axis in causal attention of these.
  bool hasPackedRing = false;
  /// Whether ranks do not divide the sequence.
  bool isOdd = false;
};
RandomModel drawModel(Dice &dice, const RandomSharding &sharding);
/// The text without the layout, for one rank.
std::string wholeText(const RandomModel &model);

/// A line that says what the case is.
std::string describe(const RandomSharding &sharding, const RandomModel &model);

/// A tensor for each argument of a drawn model. With slow decay half of the
/// heads keep most of their state over the whole sequence; with resets states
/// keep nearly all of it over most tokens and nothing over some.
std::vector<HostTensor> drawInputs(llvm::ArrayRef<TensorSpec> specs,
                                   Decay decay, uint64_t seed);

} // namespace cp::test

#endif // CP_UNITTESTS_PROPERTY_RANDOMMODEL_H
