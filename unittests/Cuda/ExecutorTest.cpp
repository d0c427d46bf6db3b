//===- ExecutorTest.cpp - What the executor of blocks sees ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels with one mistake each, and the products of fragments against loops.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Tile.h"

#include <gmock/gmock.h>
#include <random>

using namespace cp::kernels;
using namespace cp::kernels::cuda;
using testing::HasSubstr;

namespace {

/// Runs `body` as the threads of one block.
template <typename Shared, typename Body>
std::string run(int threads, const Body &body) {
  const char *message =
      exec::run("test", {1, 1, 1}, threads, sizeof(Shared), body);
  return message ? message : "";
}

struct Numbers {
  float values[64];
};

TEST(ExecutorTest, ThreadsOfABlockShareWhatABarrierSeparates) {
  int64_t sum = 0;
  EXPECT_EQ(run<Numbers>(64,
                         [&] {
                           Numbers &numbers = shared<Numbers>();
                           sharedStore(&numbers.values[thread()],
                                       float(thread()));
                           barrier();
                           if (thread() == 0)
                             for (float &value : numbers.values)
                               sum += int64_t(sharedLoad(&value));
                         }),
            "");
  EXPECT_EQ(sum, 63 * 64 / 2);
}

TEST(ExecutorTest, NamesBothSidesOfARace) {
  int first = 0, second = 0;
  std::string message = run<Numbers>(64, [&] {
    Numbers &numbers = shared<Numbers>();
    first = __LINE__ + 1;
    sharedStore(&numbers.values[thread()], 1.f);
    second = __LINE__ + 1;
    (void)sharedLoad(&numbers.values[63 - thread()]);
  });
  EXPECT_THAT(message, HasSubstr("a race on byte"));
  EXPECT_THAT(message, HasSubstr("writes in line " + std::to_string(first)));
  EXPECT_THAT(message, HasSubstr("reads in line " + std::to_string(second)));
}

TEST(ExecutorTest, ABarrierOfAWarpOrdersTheWarpOnly) {
  auto shift = [](int by) {
    return run<Numbers>(64, [=] {
      Numbers &numbers = shared<Numbers>();
      sharedStore(&numbers.values[thread()], 1.f);
      warpBarrier();
      (void)sharedLoad(&numbers.values[(thread() + by) % 64]);
    });
  };
  EXPECT_THAT(shift(32), HasSubstr("a race"));
  EXPECT_EQ(run<Numbers>(32,
                         [] {
                           Numbers &numbers = shared<Numbers>();
                           sharedStore(&numbers.values[thread()], 1.f);
                           warpBarrier();
                           (void)sharedLoad(
                               &numbers.values[(thread() + 1) % 32]);
                         }),
            "");
}

TEST(ExecutorTest, SharedMemoryBeginsAsNoNumber) {
  EXPECT_EQ(run<Numbers>(32,
                         [] {
                           float value =
                               sharedLoad(&shared<Numbers>().values[thread()]);
                           EXPECT_TRUE(std::isnan(value));
                         }),
            "");
}

TEST(ExecutorTest, AccessesAreWithinSharedMemory) {
  EXPECT_THAT(run<Numbers>(32,
                           [] {
                             (void)sharedLoad(shared<Numbers>().values + 33 +
                                              thread());
                           }),
              HasSubstr("is outside of it"));
}

TEST(ExecutorTest, EveryThreadComesToABarrier) {
  auto someCome = [] {
    if (thread() < 40)
      barrier();
  };
  EXPECT_THAT(run<Nothing>(64, someCome),
              HasSubstr("threads wait for others that do not come"));
  auto twoBarriers = [] {
    if (thread() < 40)
      barrier();
    else
      barrier();
  };
  EXPECT_THAT(run<Nothing>(64, twoBarriers),
              HasSubstr("threads meet in two barriers"));
}

TEST(ExecutorTest, EveryLaneTakesPartInOneLine) {
  auto twoLines = [] {
    if (lane() < 7)
      (void)shuffleXor(1, 1);
    else
      (void)shuffleXor(1, 1);
  };
  EXPECT_THAT(run<Nothing>(32, twoLines),
              HasSubstr("lanes of a warp meet in line"));
  auto someVote = [] {
    if (lane() < 7)
      (void)vote(true);
  };
  EXPECT_THAT(run<Nothing>(32, someVote), HasSubstr("do not come"));
}

TEST(ExecutorTest, ACopyIsThereWhenItWasWaitedFor) {
  alignas(16) float from[4] = {1, 2, 3, 4};
  struct alignas(16) Memory {
    float values[4];
  };
  bool wasEarly = false, isThere = false;
  EXPECT_EQ(run<Memory>(32,
                        [&] {
                          Memory &memory = shared<Memory>();
                          if (thread())
                            return;
                          copy16(memory.values, from, true);
                          commitCopies();
                          wasEarly = !std::isnan(sharedLoad(memory.values));
                          waitCopies<0>();
                          isThere = sharedLoad(memory.values + 3) == 4;
                        }),
            "");
  EXPECT_FALSE(wasEarly);
  EXPECT_TRUE(isThere);
  EXPECT_THAT(
      run<Memory>(32, [&] { copy16(shared<Memory>().values, from + 1, true); }),
      HasSubstr("is not aligned"));
}

/// A product of tiles by fragments, in each of the four ways to load them.
TEST(ExecutorTest, FragmentsMultiply) {
  using Square = Tile<64, 64>;
  struct Memory {
    Square a, b;
  };
  std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(-1, 1);
  float A[16][16], B[16][16];
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      A[i][j] = BFloat16(draw(random));
      B[i][j] = BFloat16(draw(random));
    }
  for (int way = 0; way < 4; ++way) {
    bool turnsA = way & 1, turnsB = way & 2;
    float result[16][16];
    ASSERT_EQ(
        run<Memory>(32,
                    [&] {
                      Memory &memory = shared<Memory>();
                      // At rows and columns that are not the first.
                      for (int i = lane(); i < 256; i += 32) {
                        int row = i / 16, column = i % 16;
                        float a = turnsA ? A[column][row] : A[row][column];
                        float b = turnsB ? B[column][row] : B[row][column];
                        sharedStore(memory.a.elements +
                                        Square::offset(16 + row, 32 + column),
                                    BFloat16(a).bits);
                        sharedStore(memory.b.elements +
                                        Square::offset(48 + row, 16 + column),
                                    BFloat16(b).bits);
                      }
                      warpBarrier();
                      Fragments<Square> fragments;
                      uint32_t a[4], b[4];
                      if (turnsA)
                        fragments.loadATransposed(a, memory.a, 16, 32);
                      else
                        fragments.loadA(a, memory.a, 16, 32);
                      if (turnsB)
                        fragments.loadBTransposed(b, memory.b, 48, 16);
                      else
                        fragments.loadB(b, memory.b, 48, 16);
                      float d[2][4] = {};
                      multiply(d[0], a, b[0], b[1]);
                      multiply(d[1], a, b[2], b[3]);
                      for (int i = 0; i < 8; ++i)
                        result[lane() / 4 + i % 4 / 2 * 8]
                              [i / 4 * 8 + lane() % 4 * 2 + i % 2] =
                                  d[i / 4][i % 4];
                    }),
        "");
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        double expected = 0;
        for (int k = 0; k < 16; ++k)
          expected += double(A[i][k]) * B[k][j];
        ASSERT_NEAR(result[i][j], expected, 1e-5) << "way " << way;
      }
  }
}

TEST(ExecutorTest, SumsOfAWarpAreInEveryLane) {
  EXPECT_EQ(run<Nothing>(64,
                         [] {
                           int inWarp = lane() + 100 * warp();
                           int sum = warpSum(inWarp);
                           EXPECT_EQ(sum, 31 * 32 / 2 + 3200 * warp());
                         }),
            "");
}

} // namespace
