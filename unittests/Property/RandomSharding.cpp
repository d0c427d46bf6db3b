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
  Mesh &mesh = sharding.value.mesh;
  sharding.hasTwoAxes = dice.chance(0.4);
  if (sharding.hasTwoAxes) {
    auto [outer, inner] = dice.oneOf<std::pair<int64_t, int64_t>>(
        {{1, 2}, {2, 1}, {2, 2}, {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}});
    mesh.axes = {{"ring", outer}, {"u", inner}};
    sharding.value.sequence = {Cut{0}, Cut{1}};
  } else {
    mesh.axes = {{"cp", dice.oneOf<int64_t>({1, 2, 2, 3, 4, 4, 5, 6, 8})}};
  }
  if (mesh.numRanks() <= 4 && dice.chance(0.3)) {
    sharding.value.tensorParallel = {Cut{static_cast<int>(mesh.axes.size())}};
    mesh.axes.push_back({"tp", 2});
    sharding.value.tensorRows = dice.chance(0.5);
    // Some models have nothing that two ranks can share.
    sharding.value.replicateUnused = true;
  }
}

void drawOrder(Dice &dice, RandomSharding &sharding) {
  const Mesh &mesh = sharding.value.mesh;
  int64_t outer = mesh.axes[0].size;
  int64_t inner = sharding.hasTwoAxes ? mesh.axes[1].size : 1;
  if (sharding.value.tensorRows)
    inner *= partsOf(mesh, sharding.value.tensorParallel);
  Cut &cut = sharding.value.sequence.front();
  cut.order =
      dice.oneOf<Order>({Order::Contiguous, Order::Zigzag, Order::Zigzag,
                         Order::Striped, Order::Striped});
  int64_t run = cut.order == Order::Zigzag ? 2 : 1;
  if (cut.order == Order::Striped && dice.chance(0.6))
    run = cut.unit = dice.between(2, 3);
  sharding.sequenceMultiple = outer * std::lcm(inner, run);
}

} // namespace

RandomSharding drawSharding(Dice &dice) {
  RandomSharding sharding;
  drawMesh(dice, sharding);
  drawOrder(dice, sharding);
  cp::Sharding &value = sharding.value;
  std::vector<CutStrategy> strategies = {CutStrategy::Hidden,
                                         CutStrategy::Sequence};
  std::vector<AttentionForm> forms = {
      AttentionForm::Ulysses, AttentionForm::Ring, AttentionForm::Gather};
  if (sharding.hasTwoAxes) {
    strategies.push_back(CutStrategy::TwoD);
    forms.push_back(AttentionForm::TwoD);
  }
  value.mixer = dice.oneOf(strategies);
  value.attention = dice.oneOf(forms);
  value.scan = dice.oneOf<ScanAlgorithm>(
      {ScanAlgorithm::Chain, ScanAlgorithm::Gather, ScanAlgorithm::Doubling,
       ScanAlgorithm::Pipelined, ScanAlgorithm::Transposed});
  int64_t tensor = partsOf(value.mesh, value.tensorParallel);
  int64_t inner = sharding.hasTwoAxes ? value.mesh.axes[1].size : 1;
  sharding.headParts = {tensor, tensor * inner, value.mesh.numRanks()};
  if (value.mesh.numRanks() <= 6 && dice.chance(0.3)) {
    value.batch = {Cut{static_cast<int>(value.mesh.axes.size())}};
    value.mesh.axes.push_back({"dp", 2});
  }
  return sharding;
}

} // namespace cp::test
