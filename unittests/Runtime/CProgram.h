//===- CProgram.h - A program that calls the runtime from C ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_CPROGRAM_H
#define CP_UNITTESTS_RUNTIME_CPROGRAM_H

#include "cp/Runtime/cprt.h"

#ifdef __cplusplus
extern "C" {
#endif

double cpTestSumInC(cprt_context *context, double number);
int cpTestBatchInC(void);

#ifdef __cplusplus
}
#endif

#endif /* CP_UNITTESTS_RUNTIME_CPROGRAM_H */
