//===- SsdForms.h - Scans in the forms that cards have ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_SSDFORMS_H
#define CP_UNITTESTS_CUDA_SSDFORMS_H

#include "Forms.h"
#include "SsdParts.h"

namespace cp::kernels::test {

/// Without gaps between rows, as programs have them.
inline SsdProblem<BFloat16> denseProblem(const SsdShape &shape, uint64_t seed) {
  Random random(seed);
  SsdProblem<BFloat16> problem(shape, Fading::Mixed, random);
  auto dense = [&](Tensor<BFloat16> &tensor) {
    Tensor<BFloat16> copy(tensor.sizes, Lay::Dense, random);
    for (int64_t i = 0; i < tensor.count(); ++i)
      copy[i] = tensor[i];
    tensor = copy;
  };
  for (Tensor<BFloat16> *tensor :
       {&problem.x, &problem.dt, &problem.B, &problem.C, &problem.y})
    dense(*tensor);
  return problem;
}

/// How blocks multiply, and of whom they take what heads share.
struct Form {
  const char *name;
  int blocksOfCluster;
  bool byWarpgroups;

  bool isThere() const {
    return (blocksOfCluster == 1 || hasClusters()) &&
           (!byWarpgroups || hasWarpgroups());
  }
};
inline const Form forms[] = {{"blocks", 1, false},
                             {"clusters", 8, false},
                             {"warpgroups", 1, true},
                             {"clusters of warpgroups", 8, true}};

/// Whether such a scan, of dense tensors, runs in the form: of other widths B
/// and C are not copied as they are.
inline void expectStarted(const WithForm &with, const Form &form,
                          const SsdShape &s) {
  bool isWhole = s.n == 64 || s.n == 128;
  bool hasPairs = s.h / s.g * ((s.p + 63) / 64) % 2 == 0;
  EXPECT_EQ(with.hasStartedWarpgroups(), form.byWarpgroups && isWhole);
  EXPECT_EQ(with.hasStartedClusters(),
            form.blocksOfCluster > 1 && isWhole && hasPairs);
}

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_SSDFORMS_H
