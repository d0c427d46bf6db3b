//===- RandomReshards.cpp - Changes of layout drawn at random -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomExchange.h"
#include "RandomGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <optional>

namespace cp::test {
namespace {

/// The cuts of a tensor of three dimensions, and the axes that add up to it.
struct RandomLayout {
  std::vector<std::string> dims = std::vector<std::string>(3);
  std::string partial;
  std::vector<bool> isCut = {false, false};
  bool hasSizes = false;
  /// Its mesh, and the names of the axes there.
  std::string mesh = "#mesh", axes = "ab";

  /// `order`: as drawn, unless given.
  void cut(Dice &dice, size_t axis,
           const std::optional<std::string> &order = std::nullopt) {
    isCut[axis] = true;
    std::string name = nameOf(axis);
    std::string &dim = dims[dice.between(0, 2)];
    dim = dim.empty()       ? name + (order ? *order : drawOrder(dice))
          : dice.chance(.5) ? plain(dim) + ", " + name
                            : name + ", " + plain(dim);
  }
  /// Lets some dimensions be cut in sizes of their own, by all of their axes.
  void drawSizes(Dice &dice, const Group &group) {
    for (std::string &dim : dims) {
      if (dim.empty() || dice.chance(0.6))
        continue;
      bool isJoint = dim.find(',') != std::string::npos;
      int64_t ranks = isJoint         ? group.a * group.b
                      : dim[1] == 'a' ? group.a
                                      : group.b,
              left = 24;
      std::string sizes;
      for (int64_t i = 1; i < ranks; ++i) {
        int64_t size = dice.chance(0.3) ? 0 : dice.between(0, left);
        sizes += std::to_string(size) + ", ";
        left -= size;
      }
      dim = (isJoint ? dim : plain(dim)) + " sizes [" + sizes +
            std::to_string(left) + "]";
      hasSizes = true;
    }
  }
  /// Lets some axes that cut nothing, but did in `before`, add up to it.
  void drawPartial(Dice &dice, const RandomLayout &before) {
    for (size_t axis : {0, 1})
      if (before.isCut[axis] && !isCut[axis] && dice.chance(0.7))
        partial += (partial.empty() ? "" : ", ") + nameOf(axis);
  }
  std::string nameOf(size_t axis) const {
    return std::string("\"") + axes[axis] + "\"";
  }
  static std::string plain(const std::string &cut) {
    return cut.substr(0, cut.find(' '));
  }
  std::string type() const {
    return "tensor<24x24x24xf64, #cp.layout<" + mesh + ", [{" +
           llvm::join(dims, "}, {") + "}]" +
           (partial.empty() ? "" : ", partial = {" + partial + "}") + ">>";
  }
};

/// What comes in the first of some layouts goes through all of them.
std::string throughAll(const std::vector<RandomLayout> &layouts) {
  std::string text, body, value = "%x";
  for (auto [i, layout] : llvm::enumerate(layouts)) {
    std::string number = std::to_string(i);
    text += "!t" + number + " = " + layout.type() + "\n";
    if (i == 0)
      continue;
    body += "  %" + number + " = cp.reshard " + value + " : !t" +
            std::to_string(i - 1) + " to !t" + number + "\n";
    value = "%" + number;
  }
  std::string last = "!t" + std::to_string(layouts.size() - 1);
  return text + "func.func @main(%x: !t0 {cp.name = \"x\"}) -> " + last +
         "\n    attributes {cp.view = \"global\"} {\n" + body + "  return " +
         value + " : " + last + "\n}\n";
}

} // namespace

RandomMap drawReshards(Dice &dice) {
  Group group(dice);
  std::vector<RandomLayout> layouts(3);
  for (RandomLayout &layout : layouts) {
    for (size_t axis : {0, 1})
      if (dice.chance(0.7))
        layout.cut(dice, axis);
    layout.drawSizes(dice, group);
  }
  RandomLayout &middle = layouts[1];
  middle.drawPartial(dice, layouts[0]);
  bool bySizes =
      llvm::any_of(layouts, [](auto &each) { return each.hasSizes; });
  return {std::string("reshard") + (bySizes ? " by sizes" : "") +
              (middle.partial.empty() ? "" : " to terms"),
          group.mesh() + throughAll(layouts),
          {"x"}};
}

RandomMap drawBridge(Dice &dice) {
  // Strides that divide each other: an axis of either is some of both's.
  auto [a, b, c, d] = dice.oneOf<std::array<int64_t, 4>>({{2, 2, 4, 1},
                                                          {4, 1, 2, 2},
                                                          {2, 4, 4, 2},
                                                          {4, 2, 2, 4},
                                                          {3, 2, 6, 1},
                                                          {2, 3, 6, 1},
                                                          {6, 1, 2, 3},
                                                          {2, 2, 2, 2}});
  std::vector<RandomLayout> layouts(4);
  layouts[2].mesh = "#other";
  layouts[2].axes = "cd";
  // One part after the other makes these, where an axis is split.
  for (RandomLayout &layout : layouts)
    for (size_t axis : {0, 1})
      if (dice.chance(0.7))
        layout.cut(
            dice, axis,
            dice.oneOf<std::string>({"", "", " striped", " striped : 2"}));
  layouts[1].drawPartial(dice, layouts[0]);
  return {std::string("bridge") +
              (layouts[1].partial.empty() ? "" : " of terms"),
          Group::meshOf("#mesh", "ab", a, b) +
              Group::meshOf("#other", "cd", c, d) + throughAll(layouts),
          {"x"}};
}

} // namespace cp::test
