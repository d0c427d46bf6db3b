//===- RandomGroup.h - Ranks that an op goes over ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_PROPERTY_RANDOMGROUP_H
#define CP_UNITTESTS_PROPERTY_RANDOMGROUP_H

#include "RandomModel.h"

#include <string>
#include <vector>

namespace cp::test {

/// A mesh of two axes and the group that an op goes over.
struct Group {
  int64_t a, b;
  /// One axis, or both in either order.
  std::vector<std::string> axes;
  int64_t ranks = 1;

  explicit Group(Dice &dice) : a(dice.between(1, 4)), b(dice.between(1, 2)) {
    axes = dice.oneOf<std::vector<std::string>>(
        {{"a"}, {"a"}, {"b"}, {"a", "b"}, {"b", "a"}});
    for (const std::string &axis : axes)
      ranks *= axis == "a" ? a : b;
  }

  std::string mesh() const { return meshOf("#mesh", "ab", a, b); }
  static std::string meshOf(const std::string &name, const std::string &axes,
                            int64_t major, int64_t minor) {
    return name + " = #cp.mesh<\"" + axes[0] + "\" = " + std::to_string(major) +
           ", \"" + axes[1] + "\" = " + std::to_string(minor) + ">\n";
  }
  /// The cuts, one of them in this order.
  std::string cuts(const std::string &order = "") const {
    if (axes.size() == 1)
      return "[\"" + axes[0] + "\"" + order + "]";
    return "[\"" + axes[0] + "\", \"" + axes[1] + "\"]";
  }
  bool isOneAxis() const { return axes.size() == 1; }
};

/// An order in which what has 4 elements a rank, or more, can be cut.
inline std::string drawOrder(Dice &dice) {
  return dice.oneOf<std::string>({"", " zigzag", " striped", " striped : 2"});
}

} // namespace cp::test

#endif // CP_UNITTESTS_PROPERTY_RANDOMGROUP_H
