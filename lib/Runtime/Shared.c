//===- Shared.c - The runtime as a shared library -----------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of static libraries alone CMake makes no shared one.
//
//===----------------------------------------------------------------------===//

#include "cp/Runtime/cprt.h"
#include "cp/Runtime/cprt_batch.h"
#include "cp/Runtime/cprt_device.h"
#include "cp/Runtime/cprt_history.h"
#include "cp/Runtime/cprt_program.h"
#include "cp/Runtime/cprt_transport.h"
