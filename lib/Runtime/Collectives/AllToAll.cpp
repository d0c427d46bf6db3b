//===- AllToAll.cpp - Changes which dimension is cut ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Exchange.h"

#include <algorithm>

using namespace cp::runtime;

namespace {

/// What happens to one of the tensors.
struct Route {
  size_t concatDim, splitDim;
  cp::Cut concatOrder, splitOrder;
  int64_t times, unit;
  /// The whole sizes of the two dimensions, the split one after its repeat.
  int64_t concatSize, splitSize;
};

} // namespace

static Error finishRoute(const Descriptor &call, const Group &group, size_t i,
                         Route &route) {
  const Buffer &in = call.in(i);
  auto wrong = [&](const std::string &text) {
    return call.invalid(call.label(i) + " is " + typeText(in) + " and " + text);
  };
  if (std::max(route.concatDim, route.splitDim) >= size_t(in.rank) ||
      route.concatDim == route.splitDim)
    return wrong("goes from dim " + std::to_string(route.concatDim) +
                 " to dim " + std::to_string(route.splitDim) +
                 ", expected two different dims of it (to change an order use "
                 "reorder)");
  int64_t split = in.sizes[route.splitDim];
  if (route.times > 1 && split % route.unit)
    return wrong("its dim " + std::to_string(route.splitDim) +
                 " is repeated in units of " + std::to_string(route.unit) +
                 ", expected a size that they divide");
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (__builtin_mul_overflow(split, route.times, &route.splitSize) ||
      __builtin_mul_overflow(in.sizes[route.concatDim], group.size,
                             &route.concatSize))
    return wrong("the exchanged sizes do not fit 63 bits, expected fewer "
                 "repeats or ranks");
  sizes[route.concatDim] = route.concatSize;
  sizes[route.splitDim] = route.splitSize;
  if (Error failure =
          checkCut(call, group, sizes, route.concatDim, route.concatOrder))
    return failure;
  if (Error failure =
          checkCut(call, group, sizes, route.splitDim, route.splitOrder))
    return failure;
  sizes[route.splitDim] /= group.size;
  return call.expectType(call.numIns() + i, in.dtype, sizes);
}

/// That there is a word of each kind for each tensor.
static Error checkWords(const Descriptor &call,
                        const AllToAllAttributes &attrs) {
  struct {
    const char *name;
    Words words;
    int64_t least, most;
  } const all[] = {{"concat_dims", attrs.concatDims, 0, maxRank - 1},
                   {"concat_orders", attrs.concatOrders, 0, INT64_MAX},
                   {"repeat_times", attrs.repeatTimes, 1, INT64_MAX},
                   {"repeat_units", attrs.repeatUnits, 1, INT64_MAX},
                   {"split_dims", attrs.splitDims, 0, maxRank - 1},
                   {"split_orders", attrs.splitOrders, 0, INT64_MAX}};
  for (const auto &each : all)
    if (Error failure = expectWords(call, each.name, each.words, call.numIns(),
                                    each.least, each.most))
      return failure;
  return std::nullopt;
}

static Error readRoutes(Context &context, const Descriptor &call,
                        const Group *&group, List<Route> &routes) {
  size_t count = call.numIns();
  if (Error failure = call.expectCounts(count, count))
    return failure;
  AllToAllAttributes attrs(call);
  if (Error failure = checkWords(call, attrs))
    return failure;
  if (Error failure = findGroup(context, call, attrs.axes, group))
    return failure;
  for (size_t i = 0; i < count; ++i) {
    routes.push_back({size_t(attrs.concatDims[i]), size_t(attrs.splitDims[i]),
                      cp::cutOfWord(attrs.concatOrders[i]),
                      cp::cutOfWord(attrs.splitOrders[i]), attrs.repeatTimes[i],
                      attrs.repeatUnits[i], 0, 0});
    if (Error failure = finishRoute(call, *group, i, routes.back()))
      return failure;
  }
  return std::nullopt;
}

/// Where `length` elements of the repeated dimension lie in the dimension
/// itself: unit u of the repeated one is unit u / times.
static void addRepeated(const Route &route, int64_t global, int64_t local,
                        int64_t length, List<Segment> &segments) {
  for (int64_t done = 0; done < length;) {
    int64_t index = global + done, inUnit = index % route.unit;
    int64_t piece = std::min(route.unit - inUnit, length - done);
    segments.push_back({local + done,
                        index / route.unit / route.times * route.unit + inUnit,
                        piece});
    done += piece;
  }
}

static List<Segment> splitSegments(const Route &route, const CutRuns &part) {
  List<Segment> segments;
  for (const Run &run : part) {
    if (route.times == 1)
      segments.push_back(
          {run.local, run.global, run.length, run.count, run.length, run.step});
    else
      run.forEach([&](int64_t global, int64_t local, int64_t length) {
        addRepeated(route, global, local, length, segments);
      });
  }
  return segments;
}

/// What the rank at `to` takes of tensor `i` of the one at `from`.
static Move moveOf(const Descriptor &call, const Group &group, size_t i,
                   const Route &route, int64_t to, int64_t from) {
  DimMap split = {route.splitDim,
                  splitSegments(route, runsAt(group, route.splitOrder,
                                              route.splitSize, to))};
  DimMap concat = {route.concatDim, {}};
  for (const Run &run :
       runsAt(group, route.concatOrder, route.concatSize, from))
    concat.segments.push_back(
        {run.global, run.local, run.length, run.count, run.step, run.length});
  return Move(i, &call.out(i)).with(std::move(concat)).with(std::move(split));
}

Error cp::runtime::operations::allToAll(Context &context,
                                        const Descriptor &call) {
  const Group *group = nullptr;
  List<Route> routes;
  if (Error failure = readRoutes(context, call, group, routes))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  auto moves = [&](int64_t to, int64_t from, List<Move> &list) {
    for (size_t i = 0; i < routes.size(); ++i)
      list.push_back(moveOf(call, *group, i, routes[i], to, from));
  };
  Exchange exchange(context, call, *group);
  if (Error failure = exchange.enter(moves))
    return failure;
  return exchange.pullAll();
}
