//===- SizesTest.cpp - Parts of sizes of their own ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges of what no number of ranks divides, held against their definition
// in plain loops, rank by rank: who cuts with the remainder first sends rank k
// the kth piece of the one dimension and puts pieces together along the other,
// by rank. What parts only have room for is NaN.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Layout/Layout.h"
#include "cp/Model/Random.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

using Shape = std::vector<int64_t>;
using Values = std::vector<float>;

int64_t countElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// A dense tensor.
struct Array {
  Shape shape;
  Values values;

  explicit Array(Shape shape, float value = 0)
      : shape(std::move(shape)), values(countElements(this->shape), value) {}

  int64_t offsetOf(const Shape &at) const {
    int64_t offset = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      offset = offset * shape[dim] + at[dim];
    return offset;
  }
  float &operator()(const Shape &at) { return values[offsetOf(at)]; }
  float operator()(const Shape &at) const { return values[offsetOf(at)]; }
};

template <typename Visit> void forEach(const Shape &shape, Visit visit) {
  Shape at(shape.size(), 0);
  for (int64_t i = 0, count = countElements(shape); i < count; ++i) {
    visit(at);
    for (size_t dim = shape.size(); dim-- > 0 && ++at[dim] == shape[dim];)
      at[dim] = 0;
  }
}

Array draw(const Shape &shape, uint64_t seed) {
  Array array(shape);
  for (size_t i = 0; i < array.values.size(); ++i)
    array.values[i] = static_cast<float>(splitMix64(seed, i) % 997) + 1;
  return array;
}

/// `count` elements along a dimension, from `first` on.
Array piece(const Array &whole, int64_t dim, int64_t first, int64_t count) {
  Shape shape = whole.shape;
  shape[dim] = count;
  Array result(shape);
  forEach(shape, [&](Shape at) {
    float &element = result(at);
    at[dim] += first;
    element = whole(at);
  });
  return result;
}

/// How a dimension is cut; none where nothing is.
struct Side {
  int64_t dim = -1;
  Shape sizes;

  bool isCut() const { return dim >= 0; }
  std::string layout(size_t rank) const {
    std::string text = "#cp.layout<#mesh, [";
    for (size_t i = 0; i < rank; ++i)
      text += std::string(i ? ", {" : "{") +
              (int64_t(i) == dim ? "\"cp\" sizes [" + list(sizes) + "]" : "") +
              "}";
    return text + "]>";
  }
  /// The shape of a part, with its room.
  Shape local(Shape shape) const {
    if (isCut())
      shape[dim] = *std::max_element(sizes.begin(), sizes.end());
    return shape;
  }
  static std::string list(const Shape &numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text;
  }
};

/// With the remainder first.
Side evenly(const Shape &shape, int64_t dim, int64_t ranks) {
  return {dim, remainderFirst(0, ranks, shape[dim]).sizes};
}

/// A tensor that goes from one way of being cut to another, or is put together.
struct Exchanged {
  Shape shape;
  Side from, to;
};

/// Programs of one rank that make several such exchanges, each of an argument
/// and a result in which all ranks' parts are stacked.
class Stack {
public:
  Stack(int64_t ranks, std::vector<Exchanged> cases)
      : ranks(ranks), cases(std::move(cases)) {}

  std::string text() const {
    std::string layouts, list, body, returned, types, results;
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto &[shape, from, to] = cases[i];
      std::string number = std::to_string(i), comma = i ? ", " : "";
      Shape in = from.local(shape), out = to.local(shape);
      layouts += "#from" + number + " = " + from.layout(shape.size()) +
                 "\n#to" + number + " = " + to.layout(shape.size()) + "\n";
      list += comma + "%all" + number + ": " + stacked(in);
      body += "  %x" + number + " = tensor.collapse_shape %all" + number + " " +
              groups(shape.size()) + " : " + typeOf(1, in) + " into " +
              typeOf(in) + "\n  %y" + number + " = cp.reshard %x" + number +
              " from #from" + number + " to #to" + number + " : " + typeOf(in) +
              " to " + typeOf(out) + "\n  %out" + number +
              " = tensor.expand_shape %y" + number + " " +
              groups(shape.size()) + " output_shape [1, " + Side::list(out) +
              "] : " + typeOf(out) + " into " + typeOf(1, out) + "\n";
      returned += comma + "%out" + number;
      types += comma + typeOf(1, out);
      results += comma + stacked(out);
    }
    return "#mesh = #cp.mesh<\"cp\" = " + std::to_string(ranks) + ">\n" +
           layouts + "func.func @main(" + list + ") -> (" + results +
           ") attributes {cp.view = \"local\"} {\n" + body + "  return " +
           returned + " : " + types + "\n}\n";
  }

  /// Each rank's parts, by the definition.
  std::vector<HostTensor> inputs() const {
    std::vector<HostTensor> tensors;
    for (const Exchanged &each : cases) {
      Array whole = wholeOf(each);
      Values all;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Array part(each.from.local(each.shape),
                   std::numeric_limits<float>::quiet_NaN());
        Array held = heldBy(whole, each.from, rank);
        forEach(held.shape, [&](const Shape &at) { part(at) = held(at); });
        all.insert(all.end(), part.values.begin(), part.values.end());
      }
      tensors.push_back(floats(stackedShape(part(each.from, each)), all));
    }
    return tensors;
  }

  /// That ranks hold what they should, and nothing of what is not there.
  void check(ArrayRef<HostTensor> outputs) const {
    ASSERT_EQ(outputs.size(), cases.size());
    for (auto [each, output] : llvm::zip_equal(cases, outputs)) {
      SCOPED_TRACE("[" + Side::list(each.shape) + "] from " +
                   each.from.layout(each.shape.size()) + " to " +
                   each.to.layout(each.shape.size()));
      Array whole = wholeOf(each), got(stackedShape(part(each.to, each)));
      ASSERT_EQ(output.shape, got.shape);
      if (!got.values.empty())
        std::memcpy(got.values.data(), output.bytes.data(),
                    output.bytes.size());
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Array held = heldBy(whole, each.to, rank);
        forEach(held.shape, [&](Shape at) {
          float expected = held(at);
          at.insert(at.begin(), rank);
          ASSERT_EQ(got(at), expected) << "rank " << rank;
        });
      }
      for (float value : got.values)
        ASSERT_FALSE(std::isnan(value));
    }
  }

private:
  Array wholeOf(const Exchanged &each) const {
    return draw(each.shape, uint64_t(&each - cases.data()) + 1);
  }
  static Array heldBy(const Array &whole, const Side &side, int64_t rank) {
    if (!side.isCut())
      return whole;
    int64_t first = 0;
    for (int64_t before = 0; before < rank; ++before)
      first += side.sizes[before];
    return piece(whole, side.dim, first, side.sizes[rank]);
  }
  static Shape part(const Side &side, const Exchanged &each) {
    return side.local(each.shape);
  }
  Shape stackedShape(Shape part) const {
    part.insert(part.begin(), ranks);
    return part;
  }
  static std::string typeOf(const Shape &shape) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + "f32>";
  }
  static std::string typeOf(int64_t outer, Shape shape) {
    shape.insert(shape.begin(), outer);
    return typeOf(shape);
  }
  static std::string stacked(const Shape &shape) {
    std::string text =
        typeOf(1, shape) + " {cp.layout = #cp.layout<#mesh, [{\"cp\"}";
    for (size_t i = 0; i < shape.size(); ++i)
      text += ", {}";
    return text + "]>}";
  }
  static std::string groups(size_t rank) {
    std::string text = "[[0, 1]";
    for (size_t i = 1; i < rank; ++i)
      text += ", [" + std::to_string(i + 1) + "]";
    return text + "]";
  }

  int64_t ranks;
  std::vector<Exchanged> cases;
};

void runAll(int64_t ranks, std::vector<Exchanged> cases) {
  Stack stack(ranks, std::move(cases));
  OwningOpRef<ModuleOp> module = parse(stack.text());
  ASSERT_TRUE(module) << stack.text();
  PassManager manager(&context());
  manager.addNestedPass<func::FuncOp>(createLowerReshards());
  ASSERT_TRUE(succeeded(manager.run(*module))) << stack.text();
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program) << stack.text();
  RunResult result = runOrFail(*program, stack.inputs(), CPRT_KERNELS_FAST);
  stack.check(result.outputs);
}

/// A tensor of which each dimension is one of two numbers, one that ranks
/// divide and one that they do not.
Shape shapeOf(size_t rank, int64_t ranks, int64_t from, int64_t to,
              bool fromDivides, bool toDivides) {
  Shape shape;
  for (size_t dim = 0; dim < rank; ++dim)
    shape.push_back(1 + int64_t(dim) % 3);
  shape[from] = fromDivides ? 2 * ranks : 2 * ranks + 1;
  shape[to] = toDivides ? ranks : ranks + 1;
  return shape;
}

/// Every pair of dimensions of 2 to 5, over 2 to 4 ranks, which divide both
/// sizes, one of them or neither: 480 exchanges.
TEST(SizesTest, AllToAllOfAnyTwoDimensions) {
  size_t exchanges = 0;
  for (int64_t ranks : {2, 3, 4})
    for (size_t rank : {2, 3, 4, 5})
      for (bool fromDivides : {true, false})
        for (bool toDivides : {true, false}) {
          std::vector<Exchanged> cases;
          for (int64_t from = 0; from < int64_t(rank); ++from)
            for (int64_t to = 0; to < int64_t(rank); ++to)
              if (from != to) {
                Shape shape =
                    shapeOf(rank, ranks, from, to, fromDivides, toDivides);
                cases.push_back({shape, evenly(shape, from, ranks),
                                 evenly(shape, to, ranks)});
              }
          exchanges += cases.size();
          ASSERT_NO_FATAL_FAILURE(runAll(ranks, std::move(cases)));
        }
  EXPECT_EQ(exchanges, 480u);
}

/// Split of what all hold, and put together again, along any dimension.
TEST(SizesTest, SplitsAndGathersAlongAnyDimension) {
  for (int64_t ranks : {2, 3, 4})
    for (size_t rank : {1, 2, 3, 4, 5}) {
      std::vector<Exchanged> cases;
      for (int64_t dim = 0; dim < int64_t(rank); ++dim) {
        Shape shape(rank, 2);
        shape[dim] = 2 * ranks - 1;
        cases.push_back({shape, {}, evenly(shape, dim, ranks)});
        cases.push_back({shape, evenly(shape, dim, ranks), {}});
      }
      ASSERT_NO_FATAL_FAILURE(runAll(ranks, std::move(cases)));
    }
}

/// Fewer elements than ranks, none at all, parts that are empty or hold
/// everything, and the same dimension in other sizes.
TEST(SizesTest, AnySizesAtAll) {
  std::vector<Exchanged> cases = {
      {{2, 5}, evenly({2, 5}, 0, 3), evenly({2, 5}, 1, 3)},
      {{1, 1}, evenly({1, 1}, 0, 3), evenly({1, 1}, 1, 3)},
      {{0, 5}, evenly({0, 5}, 0, 3), evenly({0, 5}, 1, 3)},
      {{5, 0}, evenly({5, 0}, 0, 3), {}},
      {{11, 4}, {0, {4, 0, 7}}, {1, {0, 0, 4}}},
      {{11, 4}, {0, {4, 0, 7}}, {}},
      {{11, 4}, {}, {0, {0, 11, 0}}},
      {{11, 4}, {0, {4, 0, 7}}, {0, {3, 5, 3}}},
      {{12, 3}, {0, {4, 0, 8}}, {0, {4, 4, 4}}},
      {{12, 3}, {0, {1, 10, 1}}, {0, {0, 0, 12}}},
  };
  runAll(3, std::move(cases));
}

/// Two documents of 10 and 15 tokens over a ring of 3, each with its remainder
/// first; what a rank then has is cut over 2 of Ulysses, heads for tokens.
TEST(SizesTest, DocumentsOverARing) {
  EXPECT_EQ(evenly({10}, 0, 3).sizes, (Shape{4, 3, 3}));
  EXPECT_EQ(evenly({15}, 0, 3).sizes, (Shape{5, 5, 5}));
  runAll(3, {{{10, 2}, {}, evenly({10, 2}, 0, 3)},
             {{15, 2}, {}, evenly({15, 2}, 0, 3)}});
  for (int64_t tokens : {9, 8})
    runAll(
        2,
        {{{tokens, 3}, {}, evenly({tokens, 3}, 0, 2)},
         {{tokens, 3}, evenly({tokens, 3}, 1, 2), evenly({tokens, 3}, 0, 2)}});
}

/// Callers cut and join by the sizes that arguments and results have.
TEST(SizesTest, ArgumentsAndResultsComeInThem) {
  OwningOpRef<ModuleOp> module = parse(R"(
    #mesh = #cp.mesh<"cp" = 3>
    !given = tensor<11x6xf32, #cp.layout<#mesh, [{"cp" sizes [4, 0, 7]}, {}]>>
    !heads = tensor<11x6xf32, #cp.layout<#mesh, [{}, {"cp"}]>>
    func.func @main(%x: !given {cp.name = "x"}) -> (!given, !heads)
        attributes {cp.view = "global"} {
      %0 = math.exp %x : !given
      %1 = cp.reshard %0 : !given to !heads
      %2 = math.log %1 : !heads
      %3 = cp.reshard %2 : !heads to !given
      return %3, %1 : !given, !heads
    })");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  Array x({11, 6});
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = float(i) / 32 - 1;
  RunResult result =
      runOrFail(*program, {floats({11, 6}, x.values)}, CPRT_KERNELS_REFERENCE);
  ASSERT_EQ(result.outputs.size(), 2u);
  std::vector<double> same = result.outputs[0].asDoubles(),
                      powers = result.outputs[1].asDoubles();
  for (size_t i = 0; i < x.values.size(); ++i) {
    EXPECT_NEAR(same[i], x.values[i], 1e-6);
    EXPECT_NEAR(powers[i], std::exp(x.values[i]), 1e-6);
  }
}

/// Ranks add up what they hold, and not what they have room for: exp(0) is 1.
TEST(SizesTest, SumsOverThem) {
  OwningOpRef<ModuleOp> module = parse(R"(
    #given = #cp.layout<#cp.mesh<"cp" = 3>, [{"cp" sizes [4, 0, 7]}]>
    func.func @main(%x: tensor<11xf32, #given> {cp.name = "x"})
        -> tensor<f32> {
      %0 = math.exp %x : tensor<11xf32, #given>
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<f32>
      %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>)
          -> tensor<f32>
      %1 = linalg.reduce { arith.addf } ins(%0 : tensor<11xf32, #given>)
          outs(%start : tensor<f32>) dimensions = [0]
      return %1 : tensor<f32>
    })");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program =
      test::compile(*module, {"sequence", "chain", 3});
  ASSERT_TRUE(program);
  Values x(11);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i) / 8 - 1;
    sum += std::exp(double(x[i]));
  }
  RunResult result =
      runOrFail(*program, {floats({11}, x)}, CPRT_KERNELS_REFERENCE);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_NEAR(result.outputs[0].asDoubles()[0], sum, 1e-5);
}

} // namespace
