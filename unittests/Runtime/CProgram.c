//===- CProgram.c - A program that calls the runtime from C ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CProgram.h"

#include "cp/Runtime/cprt.h"

/* The sum of one number over all ranks of a one-axis mesh, in memory of the
   runtime's; 0 after a failure. */
double cpTestSumInC(cprt_context *context, double number) {
  static const int64_t table[] = {1,        1, 2, 0, /* header */
                                  CPRT_F64, 1, 1, 1, /* input */
                                  CPRT_F64, 1, 1, 1, /* output */
                                  1,        0};      /* axes [0] */
  double result = 0;
  double *memory = cprt_alloc(context, 2 * sizeof(double));
  if (!memory)
    return 0;
  memory[0] = number;
  {
    void *buffers[2];
    buffers[0] = memory;
    buffers[1] = memory + 1;
    cprt_all_reduce(context, NULL, table, buffers);
  }
  if (cprt_context_status(context) == CPRT_OK)
    result = memory[1];
  cprt_free(context, memory);
  return result;
}
