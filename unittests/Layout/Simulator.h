//===- Simulator.h - Steps carried out on arrays ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_LAYOUT_SIMULATOR_H
#define CP_UNITTESTS_LAYOUT_SIMULATOR_H

#include "cp/Layout/Plan.h"

namespace cp::test {

/// One element as a rank holds it: which one, its (partial) value, and the rank
/// that held it before the step.
struct Element {
  int64_t id;
  uint64_t value;
  int64_t owner;
};

/// A rank's part, row-major.
struct Part {
  std::vector<int64_t> shape;
  std::vector<Element> elements;
};

/// All ranks' parts of a tensor of global `shape` in `layout`. The summands of
/// a value depend on the coordinates along the axes `summed`; those of them
/// that are not partial in `layout` are added up. Made from the definition of
/// the orders, without the algebra's index maps.
std::vector<Part> distribute(const Layout &layout,
                             const std::vector<int64_t> &shape,
                             const std::vector<int> &summed);

/// The parts after the sums over `axes` are made.
std::vector<Part> addUp(const Mesh &mesh, const std::vector<Part> &parts,
                        const std::vector<int> &axes);

/// Carries out one step from its description alone (not from Step::after), and
/// adds to `sent` for each rank how many elements others took from it.
std::vector<Part> simulate(const Step &step, const Mesh &mesh,
                           std::vector<Part> parts, std::vector<int64_t> &sent);

/// Whether both hold the same elements with the same values.
bool same(const std::vector<Part> &a, const std::vector<Part> &b);

} // namespace cp::test

#endif // CP_UNITTESTS_LAYOUT_SIMULATOR_H
