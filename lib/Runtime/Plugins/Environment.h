//===- Environment.h - A job as its launcher tells of it ----------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_ENVIRONMENT_H
#define CP_LIB_RUNTIME_PLUGINS_ENVIRONMENT_H

#include "cp/Runtime/cprt_transport.h"

struct cp_environment {
  int64_t rank, size, local_size;
  /// As in cprt_job.
  int64_t local_rank;
  /// Where rank 0 listens.
  char address[320];
  /// Lives as long as the process.
  const char *token;
};

/// Takes the place that the caller of cprt_transport_open says (see there).
/// 1, and a text, if it is none.
int cp_take_place(const cprt_transport *transport, const cprt_job *job,
                  struct cp_environment *environment, char *message,
                  size_t capacity);

/// Reads what torchrun, mpirun of Open MPI and of MPICH, or srun have put into
/// the environment; the address is CPRT_ADDRESS, or MASTER_ADDR and the port
/// behind MASTER_PORT, or the first node of a step of Slurm; the token is
/// CPRT_TOKEN. 0, or 1 and a text of at most `capacity` bytes that says what is
/// missing, is no number, or contradicts itself.
int cp_read_environment(struct cp_environment *environment, char *message,
                        size_t capacity);

#endif // CP_LIB_RUNTIME_PLUGINS_ENVIRONMENT_H
