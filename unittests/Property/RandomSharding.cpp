//===- RandomSharding.cpp - Meshes, orders and forms at random ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"

#include "cp/Model/Random.h"

#include <numeric>

namespace cp::test {

int64_t Dice::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(splitMix64(seed, drawn++) %
                                    static_cast<uint64_t>(high - low + 1));
}

bool Dice::chance(double probability) {
  return uniform01(seed, drawn++) < probability;
}

namespace {

void drawMesh(Dice &dice, RandomSharding &sharding) {
  Mesh &mesh = sharding.options.mesh;
  sharding.hasTwoAxes = dice.chance(0.4);
  if (sharding.hasTwoAxes) {
    auto [outer, inner] = dice.oneOf<std::pair<int64_t, int64_t>>(
        {{1, 2}, {2, 1}, {2, 2}, {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}});
    mesh.axes = {{"ring", outer}, {"u", inner}};
    sharding.options.axis = "ring,u";
  } else {
    mesh.axes = {{"cp", dice.oneOf<int64_t>({1, 2, 2, 3, 4, 4, 5, 6, 8})}};
    sharding.options.axis = "cp";
  }
  if (mesh.numRanks() <= 4 && dice.chance(0.3)) {
    mesh.axes.push_back({"tp", 2});
    sharding.options.tensorAxis = "tp";
    // Some models have nothing that two ranks can share.
    sharding.options.replicateUnused = true;
  }
}

void drawOrder(Dice &dice, RandomSharding &sharding) {
  const Mesh &mesh = sharding.options.mesh;
  int64_t outer = mesh.axes[0].size;
  int64_t inner = sharding.hasTwoAxes ? mesh.axes[1].size : 1;
  std::string order = dice.oneOf<std::string>(
      {"contiguous", "zigzag", "zigzag", "striped", "striped"});
  int64_t run = order == "zigzag" ? 2 : 1;
  if (order == "striped" && dice.chance(0.6)) {
    run = dice.between(2, 3);
    order += ":" + std::to_string(run);
  }
  sharding.options.order = order;
  sharding.sequenceMultiple = outer * std::lcm(inner, run);
  sharding.ranksOfSequence = outer * inner * (order == "zigzag" ? 2 : 1);
}

} // namespace

RandomSharding drawSharding(Dice &dice) {
  RandomSharding sharding;
  drawMesh(dice, sharding);
  drawOrder(dice, sharding);
  CompileOptions &options = sharding.options;
  std::vector<std::string> strategies = {"hidden", "sequence"};
  if (sharding.hasTwoAxes)
    strategies.push_back("2d");
  options.strategy = dice.oneOf(strategies);
  std::vector<std::string> forms = {"ulysses", "ring", "gather"};
  if (sharding.hasTwoAxes)
    forms.push_back("2d");
  options.attention = dice.oneOf(forms);
  options.scan = dice.oneOf<std::string>(
      {"chain", "gather", "doubling", "pipelined", "transposed"});
  int64_t tensor = options.tensorAxis.empty() ? 1 : 2;
  int64_t inner = sharding.hasTwoAxes ? options.mesh.axes[1].size : 1;
  sharding.headParts = {tensor, tensor * inner, options.mesh.numRanks()};
  return sharding;
}

} // namespace cp::test
