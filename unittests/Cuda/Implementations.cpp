//===- Implementations.cpp - The kernels of cards, on the host ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "ListWith.h"

namespace cp::kernels::test {

const std::vector<Implementation> &implementations() {
  static const std::vector<Implementation> list =
      plainAnd("cuda", kernelsThrough<OnHost>());
  return list;
}

} // namespace cp::kernels::test
