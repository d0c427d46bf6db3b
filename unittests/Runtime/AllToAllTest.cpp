//===- AllToAllTest.cpp - Changes of the dimension that is cut ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <atomic>
#include <mutex>

using namespace cp::test;

namespace {

/// What happens to one of the exchanged tensors.
struct Route {
  int64_t concatDim, concatOrder, splitDim, splitOrder, times, unit;
  cprt_dtype dtype;
  bool hasGaps;
  std::vector<Array> wholes;
};

/// [u0 u1] -> [u0 u0 u1 u1], index by index.
Array repeated(Array whole, const Route &route) {
  Sizes sizes = whole.sizes;
  sizes[size_t(route.splitDim)] *= route.times;
  Array result(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    Sizes source = index;
    int64_t &i = source[size_t(route.splitDim)];
    i = i / route.unit / route.times * route.unit + i % route.unit;
    result.at(index) = whole.at(source);
  });
  return result;
}

Route randomRoute(RandomCase &c) {
  int64_t rank = c.draw(2, 4), g = c.groupSize();
  Route route = {c.draw(0, rank - 1), c.anyOrder(),      0,
                 c.anyOrder(),        c.draw(1, 3),      c.draw(1, 2),
                 c.anyType(),         c.draw(0, 1) == 1, {}};
  route.splitDim = (route.concatDim + c.draw(1, rank - 1)) % rank;
  Sizes sizes = c.anySizes(rank);
  sizes[size_t(route.concatDim)] *= 2 * g;
  // The repeated dimension must divide, the dimension itself need not.
  int64_t &split = sizes[size_t(route.splitDim)];
  split *= route.unit;
  if (split * route.times % (2 * g))
    split *= 2 * g;
  route.wholes = c.wholes(sizes);
  return route;
}

Call &addAttrs(Call &call, const Sizes &axes,
               const std::vector<Route> &routes) {
  auto all = [&](int64_t Route::*field) {
    Sizes words;
    for (const Route &route : routes)
      words.push_back(route.*field);
    return words;
  };
  return call.array(axes)
      .array(all(&Route::concatDim))
      .array(all(&Route::concatOrder))
      .array(all(&Route::times))
      .array(all(&Route::unit))
      .array(all(&Route::splitDim))
      .array(all(&Route::splitOrder));
}

/// One rank's tensors for the call.
struct Tensors {
  std::vector<Tensor> ins, outs;
  std::vector<Array> expected;
  int64_t bytesSent = 0;
};

Tensors makeTensors(RandomCase &c, const std::vector<Route> &routes,
                    int64_t rank) {
  Tensors made;
  Member member = c.member(rank);
  for (const Route &route : routes) {
    const Array &whole = route.wholes[size_t(member.group)];
    Array local = partOf(whole, route.concatDim, route.concatOrder, member.size,
                         member.position);
    made.expected.push_back(partOf(repeated(whole, route), route.splitDim,
                                   route.splitOrder, member.size,
                                   member.position));
    made.ins.emplace_back(route.dtype, local, route.hasGaps);
    made.outs.emplace_back(route.dtype, made.expected.back().sizes,
                           route.hasGaps);
    made.bytesSent += product(local.sizes) * route.times * (member.size - 1) /
                      member.size * int64_t(cprt_dtype_size(route.dtype));
  }
  return made;
}

} // namespace

TEST(AllToAll, MovesTheCutToAnotherDimension) {
  forEachCase([](RandomCase &c) {
    std::vector<Route> routes;
    for (int64_t i = c.draw(1, 3); i > 0; --i)
      routes.push_back(randomRoute(c));
    World world(c.setting.mesh);
    std::mutex mutex;
    world.run([&](int64_t rank, cprt_context *context) {
      Tensors made = makeTensors(c, routes, rank);
      Call call;
      for (size_t i = 0; i < routes.size(); ++i)
        call.in(made.ins[i]).out(made.outs[i]);
      addAttrs(call, c.setting.axes, routes).run(cprt_all_to_all, context);
      for (Tensor &in : made.ins)
        in.write(Array(in.sizes));
      // Peers take from this rank until all have left.
      std::lock_guard<std::mutex> lock(mutex);
      for (size_t i = 0; i < routes.size(); ++i) {
        EXPECT_EQ(made.outs[i].read(), made.expected[i]);
        EXPECT_TRUE(made.outs[i].gapsAreIntact());
      }
      cprt_counter counter =
          world.counter(rank, "all_to_all", maskOf(c.setting.axes));
      EXPECT_EQ(counter.calls, 1);
      EXPECT_EQ(counter.bytes_sent, made.bytesSent);
    });
    EXPECT_EQ(world.failures(), "");
  });
}

/// Blocks around the sizes at which the way to copy changes, at odd places.
TEST(AllToAll, MovesLargeBlocks) {
  constexpr int64_t ranks = 2, kib = 1024 / 8;
  for (int64_t block : {256 * kib - 1, 256 * kib + 3, 8192 * kib + 1}) {
    SCOPED_TRACE(testing::Message() << block << " elements");
    World world({ranks});
    std::vector<std::vector<double>> got(ranks);
    world.run([&](int64_t rank, cprt_context *context) {
      Array in({ranks, 1, block});
      for (size_t i = 0; i < in.values.size(); ++i)
        in.values[i] = double(i) + double(rank) / 2;
      Tensor from(CPRT_F64, in), to(CPRT_F64, Sizes{1, ranks, block});
      Call call;
      call.in(from).out(to).array({0}).array({1}).array({0}).array({1});
      call.array({1}).array({0}).array({0}).run(cprt_all_to_all, context);
      got[size_t(rank)] = to.read().values;
    });
    EXPECT_EQ(world.failures(), "");
    int64_t wrong = 0;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t i = 0; i < ranks * block; ++i)
        wrong += got[size_t(rank)][size_t(i)] !=
                 double(rank * block + i % block) + double(i / block) / 2;
    EXPECT_EQ(wrong, 0);
  }
}

/// Ranks that come and go at different times: each writes over its input and
/// frees its output as soon as its call returns.
TEST(AllToAll, NobodyReadsAfterItsPeersReturn) {
  constexpr int64_t ranks = 3, rounds = 200;
  World world({ranks});
  std::atomic<int64_t> wrong{0};
  world.run([&](int64_t rank, cprt_context *context) {
    for (int64_t round = 0; round < rounds; ++round) {
      int64_t block = 1 + round % 5 * 100;
      Array in({ranks, 1, block});
      for (double &value : in.values)
        value = double(round * ranks + rank);
      Tensor from(CPRT_F64, in), to(CPRT_F64, Sizes{1, ranks, block});
      Call call;
      call.in(from).out(to).array({0}).array({1}).array({0}).array({1});
      call.array({1}).array({0}).array({0}).run(cprt_all_to_all, context);
      from.write(Array(in.sizes));
      std::vector<double> values = to.read().values;
      for (int64_t i = 0; i < ranks * block; ++i)
        wrong += values[size_t(i)] != double(round * ranks + i / block);
    }
  });
  EXPECT_EQ(world.failures(), "");
  EXPECT_EQ(wrong, 0);
}
