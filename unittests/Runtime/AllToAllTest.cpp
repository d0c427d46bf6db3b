//===- AllToAllTest.cpp - Changes of the dimension that is cut ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

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
  Place place = c.place(rank);
  for (const Route &route : routes) {
    const Array &whole = route.wholes[size_t(place.group)];
    Array local = partOf(whole, route.concatDim, route.concatOrder, place.size,
                         place.position);
    made.expected.push_back(partOf(repeated(whole, route), route.splitDim,
                                   route.splitOrder, place.size,
                                   place.position));
    made.ins.emplace_back(route.dtype, local, route.hasGaps);
    made.outs.emplace_back(route.dtype, made.expected.back().sizes,
                           route.hasGaps);
    made.bytesSent += product(local.sizes) * route.times * (place.size - 1) /
                      place.size * int64_t(cprt_dtype_size(route.dtype));
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
