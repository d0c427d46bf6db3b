//===- PlacesTest.cpp - The places of a rank's rows -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <numeric>

using namespace cp::test;

namespace {

struct Case {
  Sizes mesh, axes, orders;
};

/// What is left of 0, 1, 2, ... when each axis in turn cuts it.
Array placesOf(const Case &where, int64_t length, int64_t rank) {
  Array places({length});
  std::iota(places.values.begin(), places.values.end(), 0);
  for (size_t i = 0; i < where.axes.size(); ++i) {
    Member member = memberOf(where.mesh, {where.axes[i]}, rank);
    places = partOf(places, 0, where.orders[i], member.size, member.position);
  }
  return places;
}

void expectRefused(const Case &where, Tensor &out, const std::string &text) {
  World world(where.mesh);
  Call(4)
      .out(out)
      .array(where.axes)
      .array(where.orders)
      .run(cprt_positions, world.context(0));
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  std::string message = cprt_context_message(world.context(0));
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(Places, AreThoseOfTheParts) {
  const Case cases[] = {{{1}, {0}, {0}},
                        {{4}, {0}, {0}},
                        {{4}, {0}, {1}},
                        {{3}, {0}, {1}},
                        {{2, 3}, {1}, {1}},
                        {{2, 3}, {1, 0}, {1, 0}},
                        {{2, 4}, {0, 1}, {0, 1}},
                        {{2, 2, 2}, {2, 0}, {1, 1}},
                        {{4}, {0}, {3}},
                        {{2, 3}, {1, 0}, {2, 0}},
                        {{3}, {}, {}}};
  for (const Case &where : cases) {
    SCOPED_TRACE(testing::Message() << Array(where.mesh) << Array(where.axes)
                                    << Array(where.orders));
    World world(where.mesh);
    int64_t length = 4 * world.size() * 5;
    world.run([&](int64_t rank, cprt_context *context) {
      Array expected = placesOf(where, length, rank);
      Tensor out(CPRT_I64, expected.sizes, /*hasGaps=*/rank % 2 == 1);
      Call()
          .out(out)
          .array(where.axes)
          .array(where.orders)
          .run(cprt_positions, context);
      EXPECT_EQ(out.read(), expected) << "rank " << rank;
      EXPECT_TRUE(out.gapsAreIntact());
    });
    EXPECT_EQ(world.failures(), "");
  }
}

TEST(Places, RefuseWhatIsNoCutOrNoList) {
  Tensor narrow(CPRT_I32, Sizes{4}), matrix(CPRT_I64, Sizes{4, 1}),
      odd(CPRT_I64, Sizes{3}), list(CPRT_I64, Sizes{4});
  expectRefused({{2}, {0}, {0}}, narrow, "i32[4], expected i64[l]");
  expectRefused({{2}, {0}, {0}}, matrix, "i64[4, 1], expected i64[l]");
  expectRefused({{2}, {0}, {1}}, odd, "cannot be cut over 2 ranks");
  expectRefused({{2}, {0}, {}}, list, "'orders' is []");
  expectRefused({{2}, {0}, {-1}}, list, "expected 0, 1 or 1 + a unit");
  expectRefused({{2}, {1}, {0}}, list, "positions (call 4)");
}
