//===- CProgram.c - A program that calls the runtime from C ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CProgram.h"

#include "cp/Runtime/cprt.h"
#include "cp/Runtime/cprt_batch.h"
#include "cp/Runtime/cprt_history.h"

/* The sum of one number over all ranks of a one-axis mesh, in memory of the
   runtime's; 0 after a failure, or if the history knows nothing of it. */
double cpTestSumInC(cprt_context *context, double number) {
  static const int64_t table[] = {1,        1, 2, 0, /* header */
                                  CPRT_F64, 1, 1, 1, /* input */
                                  CPRT_F64, 1, 1, 1, /* output */
                                  1,        0};      /* axes [0] */
  double result = 0;
  double *memory = cprt_alloc(context, 2 * sizeof(double));
  cprt_record last;
  if (!memory)
    return 0;
  memory[0] = number;
  {
    void *buffers[2];
    buffers[0] = memory;
    buffers[1] = memory + 1;
    cprt_all_reduce(context, NULL, table, buffers);
  }
  if (cprt_context_status(context) == CPRT_OK &&
      cprt_context_history(context, &last, 1) == 1 && last.seconds >= 0)
    result = memory[1];
  cprt_free(context, memory);
  return result;
}

/* Rows of six tokens to two ranks and back; 0 when they are what they were. */
int cpTestBatchInC(void) {
  static const int32_t ids[] = {1, 2, 3, 4, 5, 6};
  cprt_batch_options options = {0};
  cprt_batch_tensor tensor = {"input_ids", CPRT_I32, 2, {1, 6}, ids, 1, NULL};
  cprt_batch_tensor parts[2];
  int32_t memory[2][4], back[6];
  cprt_batch *batch = NULL;
  int wrong = 0;
  int rank, i;
  options.struct_size = sizeof(options);
  options.ranks = 2;
  options.order = CPRT_BATCH_ZIGZAG;
  if (cprt_batch_create(&options, &tensor, 1, &batch, NULL, 0) != CPRT_OK)
    return 1;
  for (rank = 0; rank < 2; ++rank) {
    if (cprt_batch_get(batch, "input_ids", rank, &parts[rank], memory[rank],
                       sizeof(memory[rank]), NULL, 0) != CPRT_OK)
      wrong = 2;
    parts[rank].data = memory[rank];
  }
  if (cprt_batch_gather(batch, parts, 0, NULL, back, sizeof(back), NULL, 0) !=
      CPRT_OK)
    wrong = 3;
  for (i = 0; i < 6; ++i)
    if (back[i] != ids[i])
      wrong = 4;
  cprt_batch_destroy(batch);
  return wrong;
}
