//===- Slurm.c - A job step as srun tells of it -------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

/// Of "4(x2),3", what stands for `node`, counted from 0; 0 where nothing does.
static int64_t tasks_of(const char *list, int64_t node) {
  for (;;) {
    char *end = NULL;
    int64_t tasks = strtoll(list, &end, 10), times = 1;
    if (end == list)
      return 0;
    if (strncmp(end, "(x", 2) == 0) {
      times = strtoll(end + 2, &end, 10);
      end += *end == ')';
    }
    if (node < times)
      return tasks > 0 ? tasks : 0;
    node -= times;
    if (*end != ',')
      return 0;
    list = end + 1;
  }
}

int cp_slurm_is_step(int64_t size) {
  const char *tasks = text("SLURM_STEP_NUM_TASKS");
  return *tasks && atoll(tasks) == size;
}

int64_t cp_slurm_local_size(void) {
  const char *node = text("SLURM_NODEID");
  return *node ? tasks_of(text("SLURM_STEP_TASKS_PER_NODE"), atoll(node)) : 0;
}

/// Of "rack[2-3]node[07-09,11],login", rack2node07. Whether there is one that
/// fits.
static int first_host(const char *list, char *host, size_t capacity) {
  size_t length = 0;
  while (*list && *list != ',') {
    if (*list == '[') {
      size_t first = strspn(++list, "0123456789");
      length += (size_t)snprintf(host + length, capacity - length, "%.*s",
                                 (int)first, list);
      list += strcspn(list, "]");
      list += *list == ']';
    } else {
      length += (size_t)snprintf(host + length, capacity - length, "%c", *list);
      ++list;
    }
    if (length >= capacity)
      return 0;
  }
  return length > 0;
}

int cp_slurm_address(char *address, size_t capacity) {
  char host[256];
  if (!*text("SLURM_STEP_NUM_NODES") ||
      !first_host(text("SLURM_STEP_NODELIST"), host, sizeof host))
    return 0;
  // Below those that the system gives to connections.
  const int64_t firstPort = 20000, numPorts = 10000;
  int64_t step =
      llabs(atoll(text("SLURM_JOB_ID")) * 31 + atoll(text("SLURM_STEP_ID")));
  int isAlone = atoll(text("SLURM_STEP_NUM_NODES")) == 1;
  int length =
      snprintf(address, capacity, "%s:%lld", isAlone ? "127.0.0.1" : host,
               (long long)(firstPort + step % numPorts));
  return length > 0 && (size_t)length < capacity;
}
