//===- RandomExchange.cpp - Collectives drawn at random -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomExchange.h"
#include "RandomGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace cp::test {
namespace {

using Shape = std::vector<int64_t>;

std::string typeOf(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f64>";
}

std::string typesOf(const std::vector<Shape> &shapes) {
  return llvm::join(llvm::map_range(shapes, typeOf), ", ");
}

std::string arrayOf(const Shape &values) {
  return "array<i64: " +
         llvm::join(llvm::map_range(
                        values, [](int64_t i) { return std::to_string(i); }),
                    ", ") +
         ">";
}

/// Arguments, an op of them and its results, each with all ranks' tensors.
class Stacked {
public:
  explicit Stacked(const Group &group) : group(group) {}

  /// Returns the name of a new argument.
  std::string argument(const Shape &shape, bool isLinear = true) {
    std::string name = "x" + std::to_string(arguments.size());
    arguments.push_back(shape);
    if (isLinear)
      map.linear.push_back(name);
    return "%" + name;
  }

  std::vector<std::string> argumentsOf(const std::vector<Shape> &shapes) {
    std::vector<std::string> names;
    for (const Shape &shape : shapes)
      names.push_back(argument(shape));
    return names;
  }

  /// Ends of drawn documents, for each of so many rows of this length: none,
  /// some or empty ones, and the tail as one more. Returns the operand.
  std::string documents(Dice &dice, int64_t rows, int64_t length) {
    int64_t count = dice.between(0, 4);
    std::string lists;
    for (int64_t row = 0; row < rows; ++row) {
      Shape ends = {0};
      for (int64_t i = 0; i < count; ++i)
        ends.push_back(dice.between(ends.back(), length));
      ends.push_back(length);
      lists +=
          (row ? ", [" : "[") +
          llvm::join(llvm::map_range(
                         ends, [](int64_t i) { return std::to_string(i); }),
                     ", ") +
          "]";
    }
    std::string type = "tensor<" + std::to_string(rows) + "x" +
                       std::to_string(count + 2) + "xi32>";
    constants +=
        "  %cu = arith.constant dense<[" + lists + "]> : " + type + "\n";
    return " documents(%cu : " + type + ")";
  }

  /// `op` gives %y, or %y#0 and so on; `wanted` are the results to return.
  RandomMap finish(const std::string &name, const std::string &op,
                   const std::vector<Shape> &results,
                   std::vector<size_t> wanted = {}) {
    if (wanted.empty())
      for (size_t i = 0; i < results.size(); ++i)
        wanted.push_back(i);
    std::string list, body, returned, types, resultTypes;
    for (auto [i, shape] : llvm::enumerate(arguments)) {
      std::string x = "x" + std::to_string(i);
      list += (i ? ", " : "") + ("%all_" + x) + ": " + stacked(shape) +
              " {cp.name = \"" + x + "\", " + layout(shape) + "}";
      body += "  %" + x + " = tensor.collapse_shape %all_" + x + " " +
              groupsOf(shape) + " : " + stacked(shape) + " into " +
              typeOf(shape) + "\n";
    }
    body += constants + "  %y" +
            (results.size() > 1 ? ":" + std::to_string(results.size()) : "") +
            " = " + op + "\n";
    for (size_t i : wanted) {
      const Shape &shape = results[i];
      std::string comma = returned.empty() ? "" : ", ";
      std::string y = "%out" + std::to_string(i);
      body += "  " + y + " = tensor.expand_shape %y" +
              (results.size() > 1 ? "#" + std::to_string(i) : "") + " " +
              groupsOf(shape) + " output_shape " + sizes(shape) + " : " +
              typeOf(shape) + " into " + stacked(shape) + "\n";
      returned += comma + y;
      types += comma + stacked(shape);
      resultTypes += comma + stacked(shape) + " {" + layout(shape) + "}";
    }
    map.name = name;
    map.text = group.mesh() + "func.func @main(" + list + ") -> (" +
               resultTypes + ") attributes {cp.view = \"local\"} {\n" + body +
               "  return " + returned + " : " + types + "\n}\n";
    return map;
  }

private:
  static std::string stacked(Shape shape) {
    shape.insert(shape.begin(), 1);
    return typeOf(shape);
  }
  static std::string layout(const Shape &shape) {
    std::string text = "cp.layout = #cp.layout<#mesh, [{\"a\", \"b\"}";
    for (size_t i = 0; i < shape.size(); ++i)
      text += ", {}";
    return text + "]>";
  }
  static std::string groupsOf(const Shape &shape) {
    std::string text = "[[0, 1]";
    for (size_t i = 1; i < shape.size(); ++i)
      text += ", [" + std::to_string(i + 1) + "]";
    return text + "]";
  }
  static std::string sizes(const Shape &shape) {
    std::string text = "[1";
    for (int64_t size : shape)
      text += ", " + std::to_string(size);
    return text + "]";
  }

  const Group &group;
  std::vector<Shape> arguments;
  std::string constants;
  RandomMap map;
};

/// Parts of a dimension and the whole of it: gathers, slices and sums;
/// exchanges of several tensors.
RandomMap drawDimOp(Dice &dice, const Group &group, const std::string &name) {
  size_t dim = dice.between(0, 1);
  bool grows = name == "all_gather" || name == "unslice";
  bool isExchange = name == "all_gather" || name == "reduce_scatter";
  std::vector<Shape> from, to;
  for (int64_t i = isExchange ? dice.between(1, 3) : 1; i > 0; --i) {
    Shape part = {4 * dice.between(1, 2), 4 * dice.between(1, 2)}, whole = part;
    whole[dim] *= group.ranks;
    from.push_back(grows ? part : whole);
    to.push_back(grows ? whole : part);
  }
  Stacked program(group);
  std::vector<std::string> names = program.argumentsOf(from);
  return program.finish(name,
                        "cp." + name + " " + llvm::join(names, ", ") +
                            " over " + group.cuts(drawOrder(dice)) +
                            " of #mesh {dim = " + std::to_string(dim) +
                            "} : " + typesOf(from) + " -> " + typesOf(to),
                        to);
}

RandomMap drawAllReduce(Dice &dice, const Group &group) {
  std::vector<Shape> shapes;
  for (int64_t i = dice.between(1, 3); i > 0; --i)
    shapes.push_back({dice.between(1, 3), dice.between(1, 3)});
  Stacked program(group);
  std::vector<std::string> names = program.argumentsOf(shapes);
  return program.finish("all_reduce",
                        "cp.all_reduce " + llvm::join(names, ", ") + " over " +
                            group.cuts() + " of #mesh : " + typesOf(shapes),
                        shapes);
}

/// One tensor or two, their cuts in any order where one axis is exchanged over,
/// repeated or not.
RandomMap drawAllToAll(Dice &dice, const Group &group) {
  std::vector<Shape> sources, results;
  Shape concat, split, repeats, units;
  std::vector<std::string> concatCuts, splitCuts;
  for (int64_t i = dice.between(1, 2); i > 0; --i) {
    int64_t to = dice.between(0, 1), times = dice.oneOf<int64_t>({1, 1, 2, 3});
    Shape source = {4, 4}, result;
    source[1 - to] = 4 * group.ranks;
    result = source;
    result[to] *= group.ranks;
    result[1 - to] = 4 * times;
    sources.push_back(source);
    results.push_back(result);
    concat.push_back(to);
    split.push_back(1 - to);
    repeats.push_back(times);
    units.push_back(dice.oneOf<int64_t>({1, 2, 4}));
    concatCuts.push_back("#cp.cut<\"" + group.axes[0] + "\"" + drawOrder(dice) +
                         ">");
    splitCuts.push_back("#cp.cut<\"" + group.axes[0] + "\"" + drawOrder(dice) +
                        ">");
  }
  Stacked program(group);
  std::vector<std::string> names = program.argumentsOf(sources);
  std::string attributes =
      "concat_dims = " + arrayOf(concat) + ", split_dims = " + arrayOf(split);
  if (group.isOneAxis() && dice.chance(0.7))
    attributes += ", concat_cuts = [" + llvm::join(concatCuts, ", ") +
                  "], split_cuts = [" + llvm::join(splitCuts, ", ") + "]";
  if (llvm::any_of(repeats, [](int64_t times) { return times > 1; }))
    attributes += ", repeats = " + arrayOf(repeats) +
                  ", repeat_units = " + arrayOf(units);
  return program.finish("all_to_all",
                        "cp.all_to_all " + llvm::join(names, ", ") + " over " +
                            group.cuts() + " of #mesh {" + attributes +
                            "} : (" + typesOf(sources) + ") -> (" +
                            typesOf(results) + ")",
                        results);
}

/// Of one axis, the first of the group; a quarter of them to or from an order
/// per document.
RandomMap drawReorder(Dice &dice, Group group) {
  group.axes.resize(1);
  int64_t ranks = group.axes[0] == "a" ? group.a : group.b;
  Shape shape = {3, 4 * dice.between(1, 3)};
  std::string from = drawOrder(dice), to = drawOrder(dice), documents;
  if (from == to)
    to = from.empty() ? " zigzag" : "";
  Stacked program(group);
  if (dice.chance(0.25)) {
    (dice.chance(0.5) ? from : to) =
        dice.chance(0.5) ? " zigzag_per_document" : " contiguous_per_document";
    documents = program.documents(dice, shape[0], shape[1] * ranks);
  }
  std::string x = program.argument(shape);
  return program.finish(documents.empty() ? "reorder" : "reorder documents",
                        "cp.reorder " + x + documents + " from " +
                            group.cuts(from) + " to " + group.cuts(to) +
                            " of #mesh {dim = 1} : " + typeOf(shape),
                        {shape});
}

RandomMap drawShift(Dice &dice, const Group &group) {
  Shape shape = {dice.between(1, 3), 2};
  Stacked program(group);
  std::string x = program.argument(shape);
  int64_t offset = dice.between(1, std::max<int64_t>(group.ranks - 1, 1));
  if (dice.chance(0.5))
    offset = -offset;
  return program.finish("shift",
                        "cp.shift " + x + " over " + group.cuts() +
                            " of #mesh {offset = " + std::to_string(offset) +
                            "} : " + typeOf(shape),
                        {shape});
}

/// Rows of the next rank or of several, of one tensor or of two.
RandomMap drawHalo(Dice &dice, const Group &group) {
  bool isZigzag = group.isOneAxis() && dice.chance(0.5);
  int64_t parts = isZigzag ? 2 : 1, rows = dice.between(1, 5);
  bool isBefore = dice.chance(0.5);
  std::vector<Shape> sources, next, results;
  for (int64_t i = dice.between(1, 2); i > 0; --i) {
    int64_t columns = dice.between(1, 3);
    sources.push_back({2, parts * dice.between(1, 3), columns});
    next.push_back({2, rows, columns});
    results.push_back({2, parts * rows, columns});
  }
  Stacked program(group);
  std::vector<std::string> names = program.argumentsOf(sources);
  std::string operands = llvm::join(names, ", "), types = typesOf(sources);
  if (dice.chance(0.6)) {
    operands += " initial(" + llvm::join(program.argumentsOf(next), ", ") + ")";
    types += ", " + typesOf(next);
  }
  return program.finish(
      "halo",
      "cp.halo " + operands + " over " + group.cuts(isZigzag ? " zigzag" : "") +
          " of #mesh {dim = 1, " + (isBefore ? "before" : "after") + " = " +
          std::to_string(rows) + "} : (" + types + ") -> (" + typesOf(results) +
          ")",
      results);
}

/// Linear in the states; decays are given.
RandomMap drawScanState(Dice &dice, const Group &group) {
  bool isZigzag = group.isOneAxis() && dice.chance(0.5);
  int64_t parts = isZigzag ? 2 : 1, batch = dice.between(1, 2);
  Shape decay = {parts * batch, 3}, state = {parts * batch, 3, 2},
        allDecay = {batch, 3}, allState = {batch, 3, 2};
  Stacked program(group);
  std::string d = program.argument(decay, /*isLinear=*/false);
  std::string s = program.argument(state);
  std::string algorithm = dice.oneOf<std::string>(
      {"chain", "gather", "doubling", "pipelined", "transposed"});
  std::vector<Shape> results = {decay, state};
  std::vector<size_t> wanted = {1};
  std::string types = typesOf(results);
  if (dice.chance(0.5)) {
    results.insert(results.end(), {allDecay, allState});
    wanted.push_back(3);
    types += " total " + typesOf({allDecay, allState});
  }
  return program.finish(
      "scan_state",
      "cp.scan_state " + d + ", " + s + " over " +
          group.cuts(isZigzag ? " zigzag" : "") +
          " of #mesh {algorithm = #cp.scan_algorithm<" + algorithm + ">" +
          (dice.chance(0.5) ? ", reverse" : "") + "} : " + types,
      results, wanted);
}

} // namespace

RandomMap drawCollective(Dice &dice) {
  Group group(dice);
  switch (dice.between(0, 9)) {
  case 0:
    return drawAllReduce(dice, group);
  case 1:
    return drawAllToAll(dice, group);
  case 2:
    return drawReorder(dice, group);
  case 3:
    return drawShift(dice, group);
  case 4:
    return drawHalo(dice, group);
  case 5:
    return drawScanState(dice, group);
  default:
    return drawDimOp(dice, group,
                     dice.oneOf<std::string>(
                         {"all_gather", "slice", "unslice", "reduce_scatter"}));
  }
}

RandomMap drawHandScaled(Dice &dice, double &factor) {
  Group group(dice);
  std::string scale = dice.oneOf<std::string>({"up", "down", "none"});
  auto ranks = static_cast<double>(group.ranks);
  factor = scale == "up" ? ranks : scale == "down" ? 1 / ranks : 1;
  bool gathers = dice.chance(0.5);
  Shape part = {2, 4}, whole = {2, 4 * group.ranks};
  std::string order = drawOrder(dice);
  // Ranks beside the group hold the same in both.
  std::string axes = group.isOneAxis() ? "\"" + group.axes[0] + "\"" + order
                                       : "\"" + group.axes[0] + "\", \"" +
                                             group.axes[1] + "\"";
  std::string cut = "{cp.layout = #cp.layout<#mesh, [{}, {" + axes + "}]>",
              all = "{cp.layout = #cp.layout<#mesh, [{}, {}]>";
  const Shape &from = gathers ? part : whole, &to = gathers ? whole : part;
  std::string name = gathers ? "all_gather" : "slice";
  return {name + " " + scale,
          group.mesh() + "func.func @main(%x: " + typeOf(from) + " " +
              (gathers ? cut : all) + ", cp.name = \"x\"}) -> (" + typeOf(to) +
              " " + (gathers ? all : cut) +
              "}) attributes {cp.view = \"local\"} {\n  %y = cp." + name +
              " %x over " + group.cuts(order) +
              " of #mesh {dim = 1, grad_scale = \"" + scale +
              "\"} : " + typeOf(from) + " -> " + typeOf(to) +
              "\n  return %y : " + typeOf(to) + "\n}\n",
          {"x"}};
}

} // namespace cp::test
