//===- MoveKernels.h - Kernels that move elements and compute nothing -*- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_MOVEKERNELS_H
#define CP_KERNELS_CPU_MOVEKERNELS_H

#include "Kernels.h"

namespace cp::kernels {

/// Each serves every element type, and both sets. See cprt.h for the operations
/// and Kernels.h for the result.
const char *copyKernel(const Call &call);
const char *repeatKernel(const Call &call);
const char *embeddingKernel(const Call &call);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_MOVEKERNELS_H
