//===- Nccl.cpp - The transport of NCCL as a plug-in ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" {
#include "Environment.h"
#include "Room.h"
}
#include "Transport.h"

#include <cstdio>
#include <new>

using namespace cp::nccl;

static cprt_status readJob(const cprt_transport &table, const cprt_job &job,
                           cp_environment &found, char *message,
                           size_t capacity) {
  int wrong = table.size > 0
                  ? cp_take_place(&table, &job, &found, message, capacity)
                  : cp_read_environment(&found, message, capacity);
  return wrong ? CPRT_INVALID_ARGUMENT : CPRT_OK;
}

extern "C" cprt_status cprt_transport_open(cprt_transport *table, cprt_job *job,
                                           char *message, size_t capacity) try {
  if (!cp_have_room(table, job, message, capacity))
    return CPRT_INVALID_ARGUMENT;
  // The job points into it.
  auto place = std::make_shared<cp_environment>();
  cp_environment &found = *place;
  int32_t listener = table->size > 0 ? job->listener : 0;
  if (cprt_status status = readJob(*table, *job, found, message, capacity))
    return status;
  Api api;
  std::string text;
  if (!api.load(text)) {
    std::snprintf(message, capacity, "%s", text.c_str());
    return CPRT_UNSUPPORTED;
  }
  *job = {};
  job->struct_size = sizeof(*job);
  job->rank = found.rank;
  job->address = found.address;
  job->token = found.token;
  job->local_ranks = found.local_size;
  job->local_rank = found.local_rank;
  job->listener = listener;
  (new Transport(api, found.rank, found.size, place))->describe(*table);
  return CPRT_OK;
} catch (const std::bad_alloc &) {
  std::snprintf(message, capacity, "out of memory");
  return CPRT_OUT_OF_MEMORY;
}
