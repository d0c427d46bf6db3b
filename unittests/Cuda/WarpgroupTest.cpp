//===- WarpgroupTest.cpp - Products of four warps -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands for a warpgroup's products, against loops, and boxes of tensors.
//
//===----------------------------------------------------------------------===//

#include "Warpgroup.h"
#include "Cluster.h"
#include "Launch.h"

#include <gmock/gmock.h>
#include <random>

using namespace cp::kernels;
using namespace cp::kernels::cuda;
using testing::HasSubstr;

namespace {

/// Two tiles of 64 rows, in shared memory as operands, and here.
template <int Columns> struct Operands {
  struct Memory {
    PanelTile<64, Columns> a, b;
  };
  float a[64][Columns], b[64][Columns];

  Operands() {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> draw(-1, 1);
    for (auto *tile : {&a, &b})
      for (auto &row : *tile)
        for (float &number : row)
          number = BFloat16(draw(random));
  }

  template <typename Body> std::string run(const Body &body) const {
    const char *message =
        exec::run("test", {1, 1, 1}, 128, sizeof(Memory), [&] {
          auto &memory = shared<Memory>();
          for (int i = thread(); i < 64 * Columns; i += 128) {
            int row = i / Columns, column = i % Columns;
            int at = PanelTile<64, Columns>::offset(row, column);
            sharedStore(memory.a.elements + at, BFloat16(a[row][column]).bits);
            sharedStore(memory.b.elements + at, BFloat16(b[row][column]).bits);
          }
          publish();
          barrier();
          body(memory);
        });
    return message ? message : "";
  }
};

/// Of d where a lane has it; see Warpgroup.h.
int rowOf(int k) { return warp() * 16 + lane() / 4 + k / 2 * 8; }
int columnOf(int j, int k) { return j * 8 + lane() % 4 * 2 + k % 2; }

TEST(WarpgroupTest, MultipliesRows) {
  Operands<128> operands;
  int wrong = 0;
  EXPECT_EQ(operands.run([&](auto &memory) {
    float d[8][4];
    beginProducts();
    for (int k = 0; k < 128; k += 16)
      multiplyRows(d, columnsOf(memory.a, k), columnsOf(memory.b, k), k > 0);
    commitProducts<1>();
    waitProducts<0>(d);
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 4; ++k) {
        double sum = 0;
        for (int i = 0; i < 128; ++i)
          sum += double(operands.a[rowOf(k)][i]) *
                 double(operands.b[columnOf(j, k)][i]);
        wrong += !(std::fabs(d[j][k] - sum) < 1e-4);
      }
  }),
            "");
  EXPECT_EQ(wrong, 0);
}

/// a is the block's own, from registers.
TEST(WarpgroupTest, AddsProductsWithRows) {
  Operands<128> operands;
  int wrong = 0;
  EXPECT_EQ(operands.run([&](auto &memory) {
    float d[16][4];
    for (int j = 0; j < 16; ++j)
      for (int k = 0; k < 4; ++k)
        d[j][k] = float(j);
    beginProducts();
    for (int i = 0; i < 4; ++i) {
      uint32_t a[4];
      for (int part = 0; part < 4; ++part) {
        int row = rowOf(part % 2 * 2);
        int depth = i * 16 + lane() % 4 * 2 + part / 2 * 8;
        a[part] = packed(operands.a[row][depth], operands.a[row][depth + 1]);
      }
      addProduct(d, a, rowsOf(memory.b, i * 16));
    }
    commitProducts<1>();
    waitProducts<0>(d);
    for (int j = 0; j < 16; ++j)
      for (int k = 0; k < 4; ++k) {
        double sum = j;
        for (int i = 0; i < 64; ++i)
          sum += double(operands.a[rowOf(k)][i]) *
                 double(operands.b[i][columnOf(j, k)]);
        wrong += !(std::fabs(d[j][k] - sum) < 1e-4);
      }
  }),
            "");
  EXPECT_EQ(wrong, 0);
}

/// The group in front of the newest is done when one is left.
TEST(WarpgroupTest, ProductsAreThereWhenTheyWereWaitedFor) {
  Operands<64> operands;
  int early = 0, missing = 0;
  EXPECT_EQ(operands.run([&](auto &memory) {
    float first[8][4], second[8][4];
    beginProducts();
    multiplyRows(first, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
    commitProducts<1>();
    multiplyRows(second, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
    commitProducts<2>();
    early += !std::isnan(first[0][0]);
    waitProducts<1>(first);
    missing += std::isnan(first[7][3]);
    early += !std::isnan(second[0][0]);
    waitProducts<0>(second);
    missing += std::isnan(second[7][3]);
  }),
            "");
  EXPECT_EQ(early, 0);
  EXPECT_EQ(missing, 0);
}

TEST(WarpgroupTest, SeesWhatIsNotOrderedOrNotEqual) {
  Operands<64> operands;
  EXPECT_THAT(operands.run([](auto &memory) {
    float d[8][4];
    if (thread() == 0)
      sharedStore(memory.b.elements, uint16_t(0));
    beginProducts();
    multiplyRows(d, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
  }),
              HasSubstr("a race on byte"));
  EXPECT_THAT(operands.run([](auto &memory) {
    float d[8][4];
    beginProducts();
    multiplyRows(d, columnsOf(memory.a, lane() / 16 * 16),
                 columnsOf(memory.b, 0), false);
  }),
              HasSubstr("have other operands"));
  EXPECT_THAT(operands.run([](auto &memory) {
    float d[8][4];
    beginProducts();
    if (warp() != 2)
      multiplyRows(d, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
  }),
              HasSubstr("warps 0 and 2 of a warpgroup"));
  // In one call of a macro all would be one line.
  auto waitsElsewhere = [](auto &memory) {
    float d[8][4];
    beginProducts();
    multiplyRows(d, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
    commitProducts<1>();
    if (warp() == 1)
      waitProducts<0>(d);
    else
      waitProducts<0>(d);
  };
  EXPECT_THAT(operands.run(waitsElsewhere),
              HasSubstr("waited for them in the same places"));
  EXPECT_THAT(operands.run([](auto &memory) {
    float d[8][4];
    multiplyRows(d, columnsOf(memory.a, 0), columnsOf(memory.b, 0), false);
  }),
              HasSubstr("are not begun"));
}

/// A box that reaches over the tensor's end, to both blocks of a cluster.
TEST(WarpgroupTest, BoxesComeWithTheirPartsExchanged) {
  constexpr int64_t n = 128, tokens = 20, groups = 2;
  std::vector<BFloat16> numbers(size_t(n * tokens * groups));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = BFloat16(float(i % 251));
  TensorMap map;
  ASSERT_TRUE(describeTensor(map, numbers.data(), {n, tokens, groups, 1},
                             {2 * groups * n, 2 * n, 2}, 8));
  struct Memory {
    PanelTile<16, 128> tile;
    Arrivals arrivals;
  };
  int wrong = 0;
  const char *message =
      exec::run("test", {2, 1, 1, 2}, 32, sizeof(Memory), [&] {
        auto &memory = shared<Memory>();
        if (thread() == 0)
          setArrivals(&memory.arrivals);
        arriveAtCluster();
        waitForCluster();
        if (thread() == 0) {
          announce(&memory.arrivals, int(sizeof memory.tile));
          int row = rankInCluster() * 8;
          for (int column = 0; column < 128; column += 64)
            copyBoxToCluster(
                memory.tile.elements + PanelTile<16, 128>::offset(row, 0) +
                    column / 64 * PanelTile<16, 128>::panel,
                &map, {column, 8 + row, 1, 0}, &memory.arrivals, 2);
        }
        waitForArrivals(&memory.arrivals, false);
        for (int row = 0; row < 16; ++row)
          for (int column = 0; column < n; ++column) {
            int64_t token = 8 + row;
            BFloat16 expected =
                token < tokens
                    ? numbers[size_t((token * groups + 1) * n + column)]
                    : BFloat16(0.f);
            wrong += sharedLoad(memory.tile.elements +
                                PanelTile<16, 128>::offset(row, column)) !=
                     expected.bits;
          }
      });
  EXPECT_EQ(message, nullptr) << message;
  EXPECT_EQ(wrong, 0);
}

} // namespace
