//===- Environment.c - A job as its launcher tells of it ----------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include "Slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Variables of one launcher; null where it has none of that.
struct launcher {
  const char *name, *rank, *size, *local_size, *local_rank;
};

static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", NULL, "SLURM_LOCALID"},
};

/// 1 and a number from 0 on; 0 where the variable is not set; -1 where it is
/// something else.
static int read_number(const char *name, int64_t *value) {
  const char *text = name ? getenv(name) : NULL;
  if (!text || !*text)
    return 0;
  char *end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno || *end || number < 0 || number > INT32_MAX)
    return -1;
  *value = number;
  return 1;
}

/// 1, with a message, where a number is not less than another, or not at most
/// it.
static int exceeds(const char *name, int64_t value, const char *limitName,
                   int64_t limit, int mayEqual, char *message,
                   size_t capacity) {
  if (value < limit || (mayEqual && value == limit))
    return 0;
  snprintf(message, capacity, "%s is %lld, expected %s %s, %lld", name,
           (long long)value, mayEqual ? "at most" : "less than", limitName,
           (long long)limit);
  return 1;
}

static int read_launcher(const struct launcher *launcher,
                         struct cp_environment *found, char *message,
                         size_t capacity) {
  enum { numbers = 4 };
  const char *names[numbers] = {launcher->rank, launcher->size,
                                launcher->local_size, launcher->local_rank};
  int64_t *values[numbers] = {&found->rank, &found->size, &found->local_size,
                              &found->local_rank};
  int have[numbers];
  found->local_size = 0;
  for (int i = 0; i < numbers; ++i) {
    have[i] = read_number(names[i], values[i]);
    if (have[i] < 0) {
      snprintf(message, capacity, "%s is '%s', expected a number from 0 to %ld",
               names[i], getenv(names[i]), (long)INT32_MAX);
      return -1;
    }
  }
  if (have[0] != have[1]) {
    snprintf(message, capacity,
             "the environment has %s, but not %s; start the processes by %s, "
             "or set both",
             have[0] ? launcher->rank : launcher->size,
             have[0] ? launcher->size : launcher->rank, launcher->name);
    return -1;
  }
  if (have[0] && exceeds(launcher->rank, found->rank, launcher->size,
                         found->size, 0, message, capacity))
    return -1;
  if (have[0] && have[2] &&
      exceeds(launcher->local_size, found->local_size, launcher->size,
              found->size, 1, message, capacity))
    return -1;
  int isCounted = have[2] && found->local_size > 0;
  if (have[0] && have[3] &&
      exceeds(launcher->local_rank, found->local_rank,
              isCounted ? launcher->local_size : launcher->size,
              isCounted ? found->local_size : found->size, 0, message,
              capacity))
    return -1;
  found->local_rank = have[3] ? found->local_rank + 1 : 0;
  return have[0];
}

static int read_address(struct cp_environment *environment, int isStep,
                        char *message, size_t capacity) {
  const char *address = getenv("CPRT_ADDRESS"), *host = getenv("MASTER_ADDR");
  size_t size = sizeof environment->address;
  int length = 0;
  int64_t port = 0;
  if (address && *address) {
    length = snprintf(environment->address, size, "%s", address);
  } else if (host && *host) {
    if (read_number("MASTER_PORT", &port) <= 0 || port < 1 || port > 65534) {
      snprintf(message, capacity,
               "MASTER_ADDR is set, but MASTER_PORT is no port from 1 to 65534 "
               "(the one behind it is taken); set both, or CPRT_ADDRESS");
      return 1;
    }
    int isV6 = strchr(host, ':') != NULL;
    length =
        snprintf(environment->address, size, isV6 ? "[%s]:%lld" : "%s:%lld",
                 host, (long long)port + 1);
  } else if (!isStep || !cp_slurm_address(environment->address, size)) {
    snprintf(
        message, capacity,
        "where rank 0 listens is not known; set CPRT_ADDRESS to host:port, "
        "or MASTER_ADDR and MASTER_PORT, as torchrun does");
    return environment->size > 1;
  }
  if (length < 0 || (size_t)length >= size) {
    snprintf(message, capacity, "the address of rank 0 is too long");
    return 1;
  }
  return 0;
}

int cp_take_place(const cprt_transport *transport, const cprt_job *job,
                  struct cp_environment *environment, char *message,
                  size_t capacity) {
  memset(environment, 0, sizeof *environment);
  environment->rank = transport->rank;
  environment->size = transport->size;
  environment->local_size = job->local_ranks;
  environment->local_rank = job->local_rank;
  environment->token = job->token;
  const char *address = job->address ? job->address : "";
  int length = snprintf(environment->address, sizeof environment->address, "%s",
                        address);
  if (transport->rank < 0 || transport->rank >= transport->size || length < 0 ||
      (size_t)length >= sizeof environment->address ||
      (!length && transport->size > 1)) {
    snprintf(message, capacity,
             "the caller says rank %lld of %lld at '%s', expected a rank of "
             "them, and where rank 0 listens in at most %zu characters",
             (long long)transport->rank, (long long)transport->size, address,
             sizeof environment->address - 1);
    return 1;
  }
  return 0;
}

int cp_read_environment(struct cp_environment *environment, char *message,
                        size_t capacity) {
  const struct launcher *by = NULL;
  int isStep = 0;
  memset(environment, 0, sizeof *environment);
  environment->size = 1;
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; ++i) {
    struct cp_environment found;
    memset(&found, 0, sizeof found);
    int have = read_launcher(&launchers[i], &found, message, capacity);
    if (have < 0)
      return 1;
    if (!have)
      continue;
    // A job's are there under an mpirun or torchrun within it too.
    int isSlurm = strcmp(launchers[i].name, "Slurm") == 0;
    int isTask = isSlurm && cp_slurm_is_step(found.size);
    int isOuter = by && isSlurm && (!isTask || found.size != environment->size);
    if (by && !isOuter &&
        (found.rank != environment->rank || found.size != environment->size)) {
      snprintf(message, capacity,
               "%s says rank %lld of %lld and %s says rank %lld of %lld; unset "
               "the variables of one",
               by->name, (long long)environment->rank,
               (long long)environment->size, launchers[i].name,
               (long long)found.rank, (long long)found.size);
      return 1;
    }
    if (!by) {
      *environment = found;
      by = &launchers[i];
    }
    isStep |= isTask && !isOuter;
  }
  if (isStep && !environment->local_size)
    environment->local_size = cp_slurm_local_size();
  environment->token = getenv("CPRT_TOKEN");
  return read_address(environment, isStep, message, capacity);
}
