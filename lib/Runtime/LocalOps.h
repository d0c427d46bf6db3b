//===- LocalOps.h - Kernels of a rank ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_LOCALOPS_H
#define CP_LIB_RUNTIME_LOCALOPS_H

#include "Kernels.h"

struct cprt_context;

namespace cp::runtime {

/// The kernel that this world uses for `op` (static storage), or null; looked
/// up once and kept by the context.
kernels::KernelFn kernelFor(cprt_context &context, const char *op,
                            kernels::DType dtype);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_LOCALOPS_H
