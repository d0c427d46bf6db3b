//===- AttentionCases.h - Attention, whole and cut --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_ATTENTIONCASES_H
#define CP_UNITTESTS_RUNTIME_ATTENTIONCASES_H

#include "RandomCase.h"

#include <cmath>
#include <cstring>

namespace cp::test {

struct Shape {
  int64_t b, l, s, hq, hkv, d, dv;
};
struct Rule {
  bool causal;
  int64_t window;
};
/// A sequence cut over axes of a mesh, each in its own order.
struct Cut {
  Sizes axes, orders;
};

inline int64_t scaleWord() {
  double scale = 0.4;
  int64_t word;
  std::memcpy(&word, &scale, sizeof word);
  return word;
}

/// The whole problem, and what one rank alone makes of it.
struct Whole {
  cprt_dtype dtype;
  Rule rule;
  Array q, k, v, o, lse;
  /// Of the queries' own sequences; none: it is all one.
  Array places;
  /// Of a ring in zigzag order per document.
  Array documents = Array(Sizes{});

  /// Places are drawn, or not, unless they are given.
  Whole(const Shape &shape, cprt_dtype dtype, Rule rule,
        std::mt19937_64 &random, const Array &places = Array(Sizes{}))
      : dtype(dtype), rule(rule), q({shape.b, shape.l, shape.hq, shape.d}),
        k({shape.b, shape.s, shape.hkv, shape.d}),
        v({shape.b, shape.s, shape.hkv, shape.dv}),
        o({shape.b, shape.l, shape.hq, shape.dv}),
        lse({shape.b, shape.hq, shape.l}), places(places) {
    std::uniform_real_distribution<double> draw(-1.5, 1.5);
    for (Array *array : {&q, &k, &v})
      for (double &value : array->values)
        value = dtype == CPRT_BF16 ? roundedToBF16(draw(random)) : draw(random);
    if (places.sizes.empty() && rule.causal && random() % 2)
      drawPlaces(shape, random);
    World alone({1});
    attend(alone.context(0), {}, {}, {}, *this);
    EXPECT_EQ(alone.failures(), "");
  }

  /// Documents of a few tokens each, and at the end some rows without one.
  void drawPlaces(const Shape &shape, std::mt19937_64 &random) {
    places = Array({shape.b, shape.l});
    for (int64_t i = 0; i < shape.b; ++i) {
      auto tokens = int64_t(random() % uint64_t(2 * shape.l + 1));
      int64_t place = -1;
      for (int64_t row = 0; row < shape.l; ++row) {
        place = random() % 7 ? place + 1 : 0;
        places.at({i, row}) = row < tokens ? double(place) : -1;
      }
    }
  }

  /// What one rank of `mesh` holds.
  Whole part(const Sizes &mesh, const Cut &queries, const Cut &keys,
             int64_t rank) const {
    Whole part = *this;
    auto cut = [&](Array &array, int64_t dim, const Cut &how) {
      for (size_t i = 0; i < how.axes.size(); ++i) {
        Member member = memberOf(mesh, {how.axes[i]}, rank);
        array = partOf(array, dim, how.orders[i], member.size, member.position);
      }
    };
    for (Array *array : {&part.q, &part.o})
      cut(*array, 1, queries);
    if (!places.sizes.empty())
      cut(part.places, 1, queries);
    cut(part.lse, 2, queries);
    for (Array *array : {&part.k, &part.v})
      cut(*array, 1, keys);
    return part;
  }

  Tensor tensor(const Array &array, bool hasGaps) const {
    return Tensor(dtype, dtype == CPRT_BF16 ? bf16Bits(array) : array, hasGaps);
  }
  cprt_dtype sumType() const { return dtype == CPRT_BF16 ? CPRT_F32 : dtype; }

  /// Runs the ring over `ring`, or the attention of one rank, on the inputs of
  /// `part`, and writes what comes out to `result`.
  void attend(cprt_context *context, const Cut &queries, const Cut &keys,
              const Cut *ring, Whole &result, bool hasGaps = false) const {
    Tensor inQ = tensor(q, hasGaps), inK = tensor(k, false),
           inV = tensor(v, hasGaps);
    Tensor outO = tensor(o, hasGaps), outLse(sumType(), lse.sizes, hasGaps);
    Tensor inPlaces(CPRT_I64, places, hasGaps);
    Tensor inDocuments(CPRT_I32, documents, hasGaps);
    Call call;
    call.in(inQ).in(inK).in(inV);
    if (!places.sizes.empty())
      call.in(inPlaces);
    if (ring && !documents.sizes.empty())
      call.in(inDocuments);
    call.out(outO).out(outLse);
    if (ring)
      call.array(ring->axes).attr(rule.causal).array(ring->orders);
    else
      call.attr(rule.causal)
          .array(keys.axes)
          .array(keys.orders)
          .array(queries.axes)
          .array(queries.orders);
    call.attr(scaleWord()).attr(rule.window);
    call.run(ring ? cprt_ring_attention : cprt_attention, context);
    EXPECT_TRUE(outO.gapsAreIntact() && outLse.gapsAreIntact());
    result.o = dtype == CPRT_BF16 ? bf16Numbers(outO.read()) : outO.read();
    result.lse = outLse.read();
  }

  /// Sums of other parts differ by rounding; of bf16 each result is rounded
  /// once, from sums in f32, to one of two neighbours.
  void expectNear(const Whole &expected) const {
    double sums = dtype == CPRT_F64 ? 1e-12 : 1e-5;
    double last = dtype == CPRT_BF16 ? 1.0 / 128 : 0;
    for (size_t i = 0; i < o.values.size(); ++i) {
      double value = expected.o.values[i];
      ASSERT_NEAR(o.values[i], value, sums + last * std::fabs(value));
    }
    for (size_t i = 0; i < lse.values.size(); ++i)
      if (std::isinf(expected.lse.values[i]))
        ASSERT_EQ(lse.values[i], expected.lse.values[i]);
      else
        ASSERT_NEAR(lse.values[i], expected.lse.values[i], 4 * sums);
  }
};

struct Case {
  Sizes mesh;
  Cut cut;

  int64_t ranks() const { return memberOf(mesh, cut.axes, 0).size; }
};

/// Every number of ranks in every order, stripes of one row and of two, and
/// groups over several axes.
inline std::vector<Case> cases() {
  std::vector<Case> list;
  for (int64_t ranks : {1, 2, 3, 4, 5, 8})
    for (int64_t order : {0, 1})
      list.push_back({{ranks}, {{0}, {order}}});
  for (int64_t ranks : {2, 3, 8})
    for (int64_t order : {2, 3})
      list.push_back({{ranks}, {{0}, {order}}});
  list.push_back({{2, 3}, {{1}, {1}}});
  list.push_back({{2, 3}, {{1, 0}, {1, 0}}});
  list.push_back({{2, 4}, {{0, 1}, {0, 1}}});
  list.push_back({{2, 2, 2}, {{2, 0}, {1, 1}}});
  list.push_back({{2, 4}, {{0, 1}, {2, 0}}});
  // Of some stripes a rank has one row, of others all.
  list.push_back({{2, 3}, {{0, 1}, {4, 0}}});
  list.push_back({{3, 2}, {{1, 0}, {1, 2}}});
  list.push_back({{2, 2, 2}, {{2, 0}, {3, 2}}});
  list.push_back({{3}, {{}, {}}});
  return list;
}

inline constexpr Rule rules[] = {{false, 0}, {true, 0}, {true, 1}, {true, 37}};

/// A length that divides in every order, heads in groups, odd head sizes.
inline Shape shapeFor(RandomCase &c, int64_t ranks) {
  int64_t hkv = c.draw(1, 2),
          length = 4 * ranks * (c.draw(0, 9) ? c.draw(1, 6) : 17);
  return {c.draw(1, 2), length,       length,      hkv * c.draw(1, 3),
          hkv,          c.draw(1, 9), c.draw(1, 9)};
}

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_ATTENTIONCASES_H
