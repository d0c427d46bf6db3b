//===- GradProblem.h - An operation, its adjoint, and differences ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_GRADPROBLEM_H
#define CP_UNITTESTS_KERNELS_GRADPROBLEM_H

#include "Support.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace cp::kernels::test {

using Doubles = Tensor<double>;

/// An operation and its adjoint on tensors that have names. The loss is the sum
/// of all outputs, each element times one of `cotangents`.
class Problem {
public:
  std::string op;
  /// Inputs of the operation, in its order; a name that is no tensor's is left
  /// out of the call.
  std::vector<std::string> ins;
  std::vector<std::string> outs;
  /// Inputs of the adjoint, of which those named as an output are that one's
  /// cotangent, and "results " and its name the output itself; then its
  /// outputs, "d" and the name of the input.
  std::vector<std::string> gradIns, gradOuts;
  std::vector<int64_t> attrs;
  /// Of the adjoint, where they are not those of the operation.
  std::vector<int64_t> gradAttrs;
  /// Sizes of outputs, and of cotangents whose inputs are not there.
  std::map<std::string, std::vector<int64_t>> sizes;
  std::map<std::string, Doubles> tensors, cotangents, gradients, results;
  Tensor<int64_t> places, ids, rows;
  bool hasPlaces = false, hasIds = false, hasRows = false;

  void add(const std::string &name, std::vector<int64_t> size, Random &random,
           double low = -1, double high = 1) {
    Doubles tensor(std::move(size), pickLay(random), random);
    tensor.fill(random, low, high);
    tensors[name] = std::move(tensor);
  }
  void addOut(const std::string &name, std::vector<int64_t> size,
              Random &random) {
    sizes[name] = size;
    Doubles tensor(std::move(size), pickLay(random), random);
    tensor.fill(random, -1, 1);
    cotangents[name] = std::move(tensor);
    outs.push_back(name);
  }

  Buffer find(const std::string &name) {
    if (name == "places" && hasPlaces)
      return places.buffer();
    if (name == "ids" && hasIds)
      return ids.buffer();
    if (name == "rows" && hasRows)
      return rows.buffer();
    if (results.count(name))
      return results[name].buffer();
    if (cotangents.count(name))
      return cotangents[name].buffer();
    return tensors.count(name) ? tensors[name].buffer() : absent;
  }
  std::vector<Buffer> buffersOf(const std::vector<std::string> &names) {
    std::vector<Buffer> buffers;
    for (const std::string &name : names)
      buffers.push_back(find(name));
    return buffers;
  }

  double loss() {
    Random random(1);
    std::vector<Buffer> buffers;
    for (const std::string &name : outs)
      results["results " + name] = Doubles(sizes[name], Lay::Dense, random);
    for (const std::string &name : outs)
      buffers.push_back(results["results " + name].buffer());
    EXPECT_EQ(
        test::run(findCpuKernel(op.c_str(), DType::F64, KernelSet::Reference),
                  buffersOf(ins), buffers, attrs),
        "");
    double sum = 0;
    for (const std::string &name : outs) {
      Doubles &result = results["results " + name];
      for (int64_t i = 0; i < result.count(); ++i)
        sum += result[i] * cotangents[name][i];
    }
    return sum;
  }

  void differentiate(Random &random) {
    loss();
    callAdjoint(random);
  }

  /// With what the last call of loss() gave.
  void callAdjoint(Random &random) {
    std::vector<Buffer> buffers;
    for (const std::string &name : gradOuts) {
      const auto &size =
          sizes.count(name) ? sizes[name] : tensors[name.substr(1)].sizes;
      gradients[name] = Doubles(size, pickLay(random), random);
    }
    for (const std::string &name : gradOuts)
      buffers.push_back(gradients[name].buffer());
    ASSERT_EQ(test::run(findCpuKernel((op + "_grad").c_str(), DType::F64,
                                      KernelSet::Reference),
                        buffersOf(gradIns), buffers,
                        gradAttrs.empty() ? attrs : gradAttrs),
              "");
    for (const std::string &name : gradOuts)
      EXPECT_TRUE(gradients[name].isIntact()) << name;
  }

  /// Richardson's extrapolation of two central differences.
  double difference(double &at) {
    double value = at;
    auto central = [&](double step) {
      at = value + step;
      double above = loss();
      at = value - step;
      double below = loss();
      at = value;
      return (above - below) / (2 * step);
    };
    constexpr double step = 1e-3;
    return (4 * central(step / 2) - central(step)) / 3;
  }

  void check() {
    for (auto &[name, tensor] : tensors) {
      Doubles &gradient = gradients["d" + name];
      // D may be one number a head, where its cotangent is one a channel.
      int64_t each = gradient.count() / std::max<int64_t>(tensor.count(), 1);
      for (int64_t i = 0; i < tensor.count(); ++i) {
        double got = 0;
        for (int64_t k = 0; k < each; ++k)
          got += gradient[i * each + k];
        double want = difference(tensor[i]);
        ASSERT_NEAR(got, want, 1e-7 * (1 + std::fabs(want)))
            << "d" << name << " number " << i;
      }
    }
  }
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_GRADPROBLEM_H
