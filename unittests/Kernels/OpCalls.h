//===- OpCalls.h - Calls of any operation -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_OPCALLS_H
#define CP_UNITTESTS_KERNELS_OPCALLS_H

#include "Support.h"

#include <gtest/gtest.h>

namespace cp::kernels::test {

/// An operation with the sizes of its tensors.
struct OpCall {
  const char *op;
  std::vector<std::vector<int64_t>> ins, outs;
  std::vector<int64_t> attrs;
  /// The inputs and outputs from here on are of the type that sums.
  size_t firstSumIn = SIZE_MAX, firstSumOut = SIZE_MAX;
};

/// Tensors of T, and from `firstSum` on of the type that sums.
template <typename T> struct Tensors {
  std::vector<Tensor<T>> values;
  std::vector<Tensor<AccumulatorOf<T>>> sums;

  Tensors(const std::vector<std::vector<int64_t>> &sizes, size_t firstSum,
          uint64_t seed) {
    Random random(seed);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i < firstSum)
        values.emplace_back(sizes[i], Lay::Dense, random).fill(random, -1, 1);
      else
        sums.emplace_back(sizes[i], Lay::Dense, random).fill(random, 0.1, 1);
  }
  size_t size() const { return values.size() + sums.size(); }
  int64_t count(size_t i) const {
    return i < values.size() ? values[i].count()
                             : sums[i - values.size()].count();
  }
  void set(size_t i, int64_t at, float value) {
    if (i < values.size())
      values[i][at] = T(value);
    else
      sums[i - values.size()][at] = value;
  }
  double get(size_t i, int64_t at) {
    return i < values.size() ? double(AccumulatorOf<T>(values[i][at]))
                             : double(sums[i - values.size()][at]);
  }
  std::vector<Buffer> buffers() {
    std::vector<Buffer> all;
    for (Tensor<T> &tensor : values)
      all.push_back(tensor.buffer());
    for (Tensor<AccumulatorOf<T>> &tensor : sums)
      all.push_back(tensor.buffer());
    return all;
  }
  /// The bytes of all of them.
  std::string bytes() {
    std::string all;
    for (Tensor<T> &tensor : values)
      append(tensor, all);
    for (Tensor<AccumulatorOf<T>> &tensor : sums)
      append(tensor, all);
    return all;
  }

private:
  template <typename E> static void append(Tensor<E> &tensor, std::string &to) {
    to.append(static_cast<const char *>(tensor.buffer().data),
              size_t(tensor.count()) * sizeof(E));
  }
};

/// One number of one input of a call becomes `value`.
struct Spoiled {
  size_t input;
  int64_t at;
  float value;
};

/// What a call gives for drawn inputs, one number of which is another.
template <typename T>
Tensors<T> resultsOf(const OpCall &call, const Implementation &implementation,
                     const Spoiled &spoiled) {
  Tensors<T> ins(call.ins, call.firstSumIn, 5);
  Tensors<T> outs(call.outs, call.firstSumOut, 6);
  ins.set(spoiled.input, spoiled.at, spoiled.value);
  EXPECT_EQ(run(implementation.find(call.op, Element<T>::dtype), ins.buffers(),
                outs.buffers(), call.attrs),
            "");
  return outs;
}

/// Calls of all operations that have fast kernels, and one in each of
/// implementations().
std::vector<OpCall> allCalls();

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_OPCALLS_H
