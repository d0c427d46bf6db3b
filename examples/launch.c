/*===- launch.c - Runs a compiled program without a compiler ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: launch PROGRAM.so FOLDER [TRANSPORT.so]
//
// Runs what `cp-run --emit=PROGRAM.so` compiled. Arguments are read from
// FOLDER/NAME, each a whole tensor as it lies in memory; what an optimizer has
// begins with zeros. With a transport this process is one rank of its job;
// without one its threads are all of them. Rank R's part of a result goes to
// FOLDER/NAME.R, and where this process has all parts, the whole goes to
// FOLDER/NAME. Links the runtime, and exports it to the program.
//
//===----------------------------------------------------------------------===*/

#include "cp/Runtime/cprt_program.h"
#include "cp/Runtime/cprt_transport.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cprt_program *program;
static const char *folder;

static void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("launch: error: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  exit(1);
}

static void *allocate(int64_t bytes) {
  void *memory = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
  if (!memory)
    fail("no memory for %lld bytes", (long long)bytes);
  return memory;
}

/* A file of the folder; `rank` below 0 for a whole tensor. */
static FILE *open_file(const char *name, int64_t rank, const char *mode) {
  char path[4096];
  if (rank < 0)
    snprintf(path, sizeof path, "%s/%s", folder, name);
  else
    snprintf(path, sizeof path, "%s/%s.%lld", folder, name, (long long)rank);
  FILE *file = fopen(path, mode);
  if (!file)
    fail("%s cannot be opened", path);
  return file;
}

static void write_file(const char *name, int64_t rank, const void *data,
                       int64_t bytes) {
  FILE *file = open_file(name, rank, "wb");
  size_t written = fwrite(data, 1, (size_t)bytes, file);
  if (fclose(file) || written != (size_t)bytes)
    fail("%s cannot be written", name);
}

/* A rank's part of an argument. */
static void *read_part(const cprt_program_tensor *tensor, int64_t rank) {
  void *part = allocate(cprt_tensor_part_bytes(tensor));
  memset(part, 0, (size_t)cprt_tensor_part_bytes(tensor));
  if (tensor->role == CPRT_ROLE_STATE || tensor->role == CPRT_ROLE_ACCUMULATOR)
    return part;
  int64_t bytes = cprt_tensor_bytes(tensor);
  void *whole = allocate(bytes);
  FILE *file = open_file(tensor->name, -1, "rb");
  if (fread(whole, 1, (size_t)bytes, file) != (size_t)bytes ||
      fgetc(file) != EOF)
    fail("%s has not the %lld bytes of the tensor", tensor->name,
         (long long)bytes);
  fclose(file);
  if (cprt_tensor_split(program, tensor, rank, whole, part) != CPRT_OK)
    fail("%s cannot be cut", tensor->name);
  free(whole);
  return part;
}

/* One rank: its context, and the buffers of the entry. */
struct rank {
  int64_t number;
  cprt_context *context;
  void **buffers;
  pthread_t thread;
};

static void *run(void *argument) {
  struct rank *rank = argument;
  const cprt_entry *entry = &program->entries[0];
  rank->buffers = calloc((size_t)(entry->num_arguments + entry->num_results),
                         sizeof *rank->buffers);
  if (!rank->buffers)
    fail("no memory");
  void **next = rank->buffers;
  for (int64_t i = 0; i < entry->num_arguments; ++i)
    *next++ = read_part(&entry->arguments[i], rank->number);
  for (int64_t i = 0; i < entry->num_results; ++i)
    if (!entry->results[i].updates)
      *next++ = allocate(cprt_tensor_part_bytes(&entry->results[i]));
  entry->run(rank->context, NULL, rank->buffers);
  return NULL;
}

/* Writes the parts of all ranks here, and the whole if these are all. */
static void write_results(const struct rank *ranks, int64_t count,
                          int64_t all) {
  const cprt_entry *entry = &program->entries[0];
  int64_t at = entry->num_arguments;
  for (int64_t i = 0; i < entry->num_results; ++i) {
    const cprt_program_tensor *tensor = &entry->results[i];
    if (tensor->updates)
      continue;
    void *whole = allocate(cprt_tensor_bytes(tensor));
    for (int64_t r = 0; r < count; ++r) {
      const void *part = ranks[r].buffers[at];
      write_file(tensor->name, ranks[r].number, part,
                 cprt_tensor_part_bytes(tensor));
      cprt_tensor_join(program, tensor, ranks[r].number, part, whole);
    }
    if (count == all)
      write_file(tensor->name, -1, whole, cprt_tensor_bytes(tensor));
    free(whole);
    ++at;
  }
}

static void *load(const char *path, const char *symbol) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *address = library ? dlsym(library, symbol) : NULL;
  if (!address)
    fail("%s", dlerror());
  return address;
}

static cprt_world *make_world(const char *transport_path) {
  cprt_options options = {0};
  options.struct_size = sizeof options;
  options.num_axes = program->num_axes;
  options.axis_sizes = program->axis_sizes;
  options.threads = 1;
  cprt_world *world = NULL;
  char message[512] = "";
  cprt_status status;
  if (transport_path) {
    cprt_transport transport = {0};
    transport.struct_size = sizeof transport;
    cprt_job job = {0};
    job.struct_size = sizeof job;
    cprt_transport_open_fn *open =
        (cprt_transport_open_fn *)load(transport_path, "cprt_transport_open");
    status = open(&transport, &job, message, sizeof message);
    job.program = program->hash;
    if (status == CPRT_OK)
      status = cprt_messages_create(&options, &job, &transport, &world, message,
                                    sizeof message);
  } else {
    status = cprt_threads_create(&options, &world, message, sizeof message);
  }
  if (status != CPRT_OK)
    fail("%s: %s", cprt_status_name(status), message);
  return world;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4)
    fail("usage: launch PROGRAM.so FOLDER [TRANSPORT.so]");
  folder = argv[2];
  program = ((cprt_program_fn *)load(argv[1], "cp_program"))();
  char message[512] = "";
  if (cprt_program_check(program, message, sizeof message) != CPRT_OK)
    fail("%s", message);
  cprt_world *world = make_world(argc == 4 ? argv[3] : NULL);
  int64_t all = cprt_world_size(world), count = 0;
  struct rank *ranks = calloc((size_t)all, sizeof *ranks);
  if (!ranks)
    fail("no memory");
  for (int64_t rank = 0; rank < all; ++rank)
    if (cprt_world_context(world, rank)) {
      ranks[count].number = rank;
      ranks[count++].context = cprt_world_context(world, rank);
    }
  for (int64_t r = 0; r < count; ++r)
    if (pthread_create(&ranks[r].thread, NULL, run, &ranks[r]))
      fail("no thread for rank %lld", (long long)ranks[r].number);
  for (int64_t r = 0; r < count; ++r)
    pthread_join(ranks[r].thread, NULL);
  for (int64_t r = 0; r < count; ++r)
    if (cprt_context_status(ranks[r].context) != CPRT_OK)
      fail("rank %lld: %s", (long long)ranks[r].number,
           cprt_context_message(ranks[r].context));
  write_results(ranks, count, all);
  cprt_world_destroy(world);
  return 0;
}
