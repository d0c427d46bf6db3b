//===- Operations.h - The operations of the runtime -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is made of include/cp/Runtime/Operations.td: the signature of each
// operation, the attributes of its calls, and for those that are no kernels the
// function `operations::<symbol>`, which is called once the signature has been
// checked. Their entry points cprt_<symbol> are made too.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_OPERATIONS_H
#define CP_LIB_RUNTIME_OPERATIONS_H

#include "Context.h"
#include "Signature.h"

namespace cp::runtime {

#define GET_DECLARATIONS
#include "OperationTables.inc"

/// The type that a kernel is made for: the first floating-point buffer's. Ops
/// on integers alone go by their first buffer.
DType keyType(const Descriptor &call);
/// Whether an operation computes, other than by combining what ranks have.
bool computes(const char *op, DType dtype);
/// The name of the kernel that an operation computes with: its own, or that of
/// its blocks.
const char *kernelOf(const char *op);

/// The kernel that this world uses for `op` (static storage), or null; looked
/// up once and kept by the context.
kernels::KernelFn kernelFor(Context &context, const char *op, DType dtype);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_OPERATIONS_H
