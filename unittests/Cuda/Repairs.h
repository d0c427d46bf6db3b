//===- Repairs.h - How often kernels have repaired a result -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_REPAIRS_H
#define CP_UNITTESTS_CUDA_REPAIRS_H

#include <cstdint>

namespace cp::kernels::test {

/// Kernels for matrix units make again what came out not finite, by slow and
/// sure means, which would hide that it should have been finite. Of this
/// thread's calls; always 0 on a card.
int64_t numRepairs();

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_REPAIRS_H
