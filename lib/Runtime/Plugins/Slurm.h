//===- Slurm.h - A job step as srun tells of it -------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_SLURM_H
#define CP_LIB_RUNTIME_PLUGINS_SLURM_H

#include <stddef.h>
#include <stdint.h>

/// Whether this is a task of a step of `size`, and not a shell of salloc, a
/// script of sbatch, or something that these have started by other means: they
/// have the variables of the job, and perhaps those of a step of one task.
int cp_slurm_is_step(int64_t size);

/// How many tasks of the step are on this node; 0 where that is not known.
int64_t cp_slurm_local_size(void);

/// Where rank 0 listens if nobody has said: the step's first node, or this
/// machine if there is but one, and a port that other steps are not likely to
/// take. Whether it is known, and fits.
int cp_slurm_address(char *address, size_t capacity);

#endif // CP_LIB_RUNTIME_PLUGINS_SLURM_H
