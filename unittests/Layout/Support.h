//===- Support.h - What the tests of the algebra share ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_LAYOUT_SUPPORT_H
#define CP_UNITTESTS_LAYOUT_SUPPORT_H

#include "cp/Layout/Layout.h"

#include "gtest/gtest.h"

#include <random>

namespace cp::test {

constexpr Order contiguous = Order::Contiguous;
constexpr Order zigzag = Order::Zigzag;
constexpr Order striped = Order::Striped;
constexpr Order perDocument = Order::ZigzagPerDocument;
constexpr Order blockPerDocument = Order::ContiguousPerDocument;
/// Those that a cut has without a size for each rank.
constexpr Order plainOrders[] = {contiguous, zigzag, striped, perDocument};

/// The cut over an axis by these sizes.
inline Cut bySizes(int axis, std::vector<int64_t> sizes) {
  return {axis, Order::Sizes, 1, std::move(sizes)};
}

/// <"a" = sizes[0], "b" = sizes[1], ...>
Mesh makeMesh(const std::vector<int64_t> &sizes);

/// Which of `list` position r of `ranks` holds: the definition of an order,
/// carried out on the list itself, in zigzag_per_document as of one document.
/// The sizes must divide.
std::vector<int64_t> pick(const std::vector<int64_t> &list, const Cut &cut,
                          int64_t ranks, int64_t r);

/// The global indices that a rank holds of a dimension, by `pick`.
std::vector<int64_t> held(const Mesh &mesh, const std::vector<Cut> &cuts,
                          int64_t size, int64_t rank);

/// A generator for a random test, which prints the seed that repeats it.
std::mt19937 makeGenerator();

/// Every layout of a 2-axis or smaller mesh, or one drawn at random, by giving
/// each axis a use: replicated, partial, or a cut of a dimension in an order.
std::vector<Layout> allLayouts(const Mesh &mesh, int numDims);
Layout randomLayout(const Mesh &mesh, int numDims, std::mt19937 &generator);

/// Expects an error that begins with the label and holds each of `parts`.
void expectError(const std::optional<std::string> &error,
                 const std::vector<std::string> &parts);

} // namespace cp::test

#endif // CP_UNITTESTS_LAYOUT_SUPPORT_H
