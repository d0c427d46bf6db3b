//===- Operations.td - The runtime's operations ------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of what a compiled program can call. From it are made: the
// declarations that cprt.h includes; the check that every call goes through and
// the readers of its attributes (lib/Runtime/Core/Operations.h), and of its
// tensors where they have fixed ranks (kernels/cpu/OpArguments.h); the writers of
// calls (lib/Dialect/CP/CPRuntimeCalls.cpp); lists for whoever looks one up by its
// name.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_OPERATIONS_TD
#define CP_RUNTIME_OPERATIONS_TD

include "cp/Runtime/LocalOperations.td"
include "cp/Runtime/GroupOperations.td"

#endif // CP_RUNTIME_OPERATIONS_TD
