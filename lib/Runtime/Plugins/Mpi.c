//===- Mpi.c - Messages over an MPI library -----------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transport of its own for each MPI library, compiled by that library's
// mpicc: what MPI_COMM_WORLD is differs between them. Ranks are those of
// MPI_COMM_WORLD, messages are MPI_Isend and MPI_Irecv on a copy of it.
//
//===----------------------------------------------------------------------===//

#include "Room.h"

#include <arpa/inet.h>
#include <limits.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CP_MPI_NAME
#define CP_MPI_NAME "mpi"
#endif

/// MPI counts with int.
enum { largestPart = 1 << 30, tokenBytes = 32 };

/// Whether it is for us to end MPI, which can be done once and begins for the
/// first world; not once a world has failed.
static int ends_mpi;

static void end_mpi(void) {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (ends_mpi && !is_over)
    MPI_Finalize();
}

struct mpi {
  MPI_Comm comm;
  char error[512];
  char address[320];
  char token[2 * tokenBytes + 1];
};

/// One message, in parts that MPI can count.
struct request {
  int64_t bytes;
  int receives;
  int count;
  MPI_Request parts[];
};

static void say(struct mpi *mpi, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(mpi->error, sizeof mpi->error, format, list);
  va_end(list);
}

static cprt_status failed(struct mpi *mpi, const char *function, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  say(mpi, "%s: %s", function, text);
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class == MPI_ERR_TRUNCATE ? CPRT_MISMATCH : CPRT_PEER_FAILED;
}

static cprt_status start(struct mpi *mpi, const cprt_message *message,
                         struct request *request) {
  char *data = message->data;
  int64_t left = message->bytes;
  for (int i = 0; i < request->count; ++i) {
    int part = left < largestPart ? (int)left : largestPart;
    int code = message->is_receive
                   ? MPI_Irecv(data, part, MPI_BYTE, (int)message->peer,
                               message->tag, mpi->comm, &request->parts[i])
                   : MPI_Isend(data, part, MPI_BYTE, (int)message->peer,
                               message->tag, mpi->comm, &request->parts[i]);
    if (code != MPI_SUCCESS)
      return failed(mpi, message->is_receive ? "MPI_Irecv" : "MPI_Isend", code);
    data += part;
    left -= part;
  }
  return CPRT_OK;
}

static cprt_status post(void *state, const cprt_message *messages,
                        int64_t count, void **requests) {
  struct mpi *mpi = state;
  for (int64_t i = 0; i < count; ++i) {
    int64_t parts = (messages[i].bytes + largestPart - 1) / largestPart;
    struct request *request =
        malloc(sizeof *request + (size_t)parts * sizeof(MPI_Request));
    if (!request || parts > INT_MAX) {
      free(request);
      say(mpi, "no memory for a message of %lld bytes",
          (long long)messages[i].bytes);
      return CPRT_OUT_OF_MEMORY;
    }
    request->bytes = messages[i].bytes;
    request->receives = messages[i].is_receive;
    request->count = (int)parts;
    for (int part = 0; part < request->count; ++part)
      request->parts[part] = MPI_REQUEST_NULL;
    requests[i] = request;
    cprt_status status = start(mpi, &messages[i], request);
    if (status != CPRT_OK)
      return status;
  }
  return CPRT_OK;
}

/// What is to be received is not any more, in whatever time MPI takes for that.
/// What has been sent cannot be taken back: its memory is read until the peer
/// has it, if that is still there.
static void cancel(void *state, void *handle) {
  (void)state;
  struct request *request = handle;
  for (int i = 0; i < request->count; ++i) {
    MPI_Request *part = &request->parts[i];
    int done = *part == MPI_REQUEST_NULL;
    if (!done && request->receives)
      MPI_Cancel(part);
    double most = MPI_Wtime() + 0.01;
    while (!done && request->receives && MPI_Wtime() < most)
      MPI_Test(part, &done, MPI_STATUS_IGNORE);
    if (!done)
      MPI_Request_free(part);
  }
  free(request);
}

/// Any question makes MPI carry on with all that is under way.
static void progress(void *state) {
  struct mpi *mpi = state;
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->comm, &flag, MPI_STATUS_IGNORE);
}

/// Looks at the parts one by one: statuses of all of them would need memory.
static cprt_status test(void *state, void **handle, int32_t *done) {
  struct mpi *mpi = state;
  struct request *request = *handle;
  *done = 0;
  while (request->count) {
    int last = request->count - 1, flag = 0, bytes = 0;
    MPI_Status status;
    int code = MPI_Test(&request->parts[last], &flag, &status);
    if (code != MPI_SUCCESS) {
      request->count = last;
      cancel(mpi, request);
      *handle = NULL;
      return failed(mpi, "MPI_Test", code);
    }
    if (!flag)
      return CPRT_OK;
    int64_t expected =
        request->bytes - (int64_t)last * largestPart < largestPart
            ? request->bytes - (int64_t)last * largestPart
            : largestPart;
    if (request->receives && MPI_Get_count(&status, MPI_BYTE, &bytes) == 0 &&
        bytes != expected) {
      say(mpi, "a message has %d bytes, expected %lld", bytes,
          (long long)expected);
      request->count = last;
      cancel(mpi, request);
      *handle = NULL;
      return CPRT_MISMATCH;
    }
    --request->count;
  }
  free(request);
  *handle = NULL;
  *done = 1;
  return CPRT_OK;
}

static const char *errorText(void *state) {
  return ((struct mpi *)state)->error;
}

/// MPI_Finalize would wait for ranks that have failed.
static void destroy(void *state, int32_t failed) {
  struct mpi *mpi = state;
  if (failed)
    ends_mpi = 0;
  else
    MPI_Comm_free(&mpi->comm);
  free(mpi);
}

/// Rank 0 listens on a port that the system gives it.
static int openListener(int isLocal, int *port) {
  struct sockaddr_in name;
  memset(&name, 0, sizeof name);
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(isLocal ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof name;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  if (bind(fd, (struct sockaddr *)&name, sizeof name) ||
      listen(fd, SOMAXCONN) ||
      getsockname(fd, (struct sockaddr *)&name, &size)) {
    close(fd);
    return -1;
  }
  *port = ntohs(name.sin_port);
  return fd;
}

/// Fills in how the ranks find each other beside MPI; the same on all.
static cprt_status makeJob(struct mpi *mpi, int rank, int size, cprt_job *job) {
  MPI_Comm local;
  int localSize = 0, localRank = 0;
  int code = MPI_Comm_split_type(mpi->comm, MPI_COMM_TYPE_SHARED, rank,
                                 MPI_INFO_NULL, &local);
  if (code != MPI_SUCCESS)
    return failed(mpi, "MPI_Comm_split_type", code);
  MPI_Comm_size(local, &localSize);
  MPI_Comm_rank(local, &localRank);
  MPI_Comm_free(&local);
  job->local_ranks = localSize;
  job->local_rank = localRank + 1;
  int listener = -1;
  if (rank == 0) {
    char host[256] = "127.0.0.1";
    int isLocal = localSize == size, port = 0;
    listener = openListener(isLocal, &port);
    if (!isLocal)
      gethostname(host, sizeof host - 1);
    if (listener >= 0)
      snprintf(mpi->address, sizeof mpi->address, "%s:%d", host, port);
    unsigned char random[tokenBytes];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
      mpi->address[0] = 0;
    for (int i = 0; i < tokenBytes; ++i)
      snprintf(mpi->token + 2 * i, 3, "%02x", random[i]);
  }
  code = MPI_Bcast(mpi->address, sizeof mpi->address, MPI_BYTE, 0, mpi->comm);
  if (code == MPI_SUCCESS)
    code = MPI_Bcast(mpi->token, sizeof mpi->token, MPI_BYTE, 0, mpi->comm);
  if (code != MPI_SUCCESS || !mpi->address[0]) {
    if (listener >= 0)
      close(listener);
    if (code != MPI_SUCCESS)
      return failed(mpi, "MPI_Bcast", code);
    say(mpi, "rank 0 could not open a port");
    return CPRT_UNSUPPORTED;
  }
  job->struct_size = sizeof *job;
  job->rank = rank;
  job->address = mpi->address;
  job->token = mpi->token;
  job->listener = listener + 1;
  return CPRT_OK;
}

static cprt_status join(struct mpi *mpi, cprt_transport *transport,
                        cprt_job *job) {
  int isInitialized = 0, isFinalized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&isInitialized);
  MPI_Finalized(&isFinalized);
  if (isFinalized) {
    say(mpi, "MPI has been finalized in this process, and cannot begin again; "
             "make all worlds before that");
    return CPRT_UNSUPPORTED;
  }
  if (isInitialized)
    MPI_Query_thread(&level);
  else if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
           MPI_SUCCESS) {
    say(mpi, "MPI_Init_thread failed; start the program by mpirun");
    return CPRT_UNSUPPORTED;
  }
  if (!isInitialized && atexit(end_mpi) == 0)
    ends_mpi = 1;
  if (level < MPI_THREAD_SERIALIZED) {
    say(mpi, "MPI was initialized for one thread only; ask MPI_Init_thread for "
             "MPI_THREAD_SERIALIZED");
    return CPRT_UNSUPPORTED;
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (transport->size > 0 &&
      (transport->rank != rank || transport->size != size)) {
    say(mpi,
        "the caller says rank %lld of %lld, but mpirun made this process rank "
        "%d of %d; let mpirun start the job's processes alone, or take a "
        "transport that needs no launcher, such as ucx",
        (long long)transport->rank, (long long)transport->size, rank, size);
    return CPRT_UNSUPPORTED;
  }
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm);
  if (code != MPI_SUCCESS)
    return failed(mpi, "MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
  // MPI tells all ranks where rank 0 listens.
  if (job->listener > 0)
    close(job->listener - 1);
  cprt_status status = makeJob(mpi, rank, size, job);
  if (status != CPRT_OK)
    return status;
  *transport = (cprt_transport){.struct_size = sizeof *transport,
                                .state = mpi,
                                .name = CP_MPI_NAME,
                                .rank = rank,
                                .size = size,
                                .post = post,
                                .test = test,
                                .cancel = cancel,
                                .error = errorText,
                                .destroy = destroy,
                                .progress = progress};
  return CPRT_OK;
}

cprt_status cprt_transport_open(cprt_transport *transport, cprt_job *job,
                                char *message, size_t capacity) {
  if (!cp_have_room(transport, job, message, capacity))
    return CPRT_INVALID_ARGUMENT;
  struct mpi *mpi = calloc(1, sizeof *mpi);
  cprt_status status = mpi ? join(mpi, transport, job) : CPRT_OUT_OF_MEMORY;
  if (message && capacity)
    snprintf(message, capacity, "%s", mpi ? mpi->error : "out of memory");
  if (status != CPRT_OK)
    free(mpi);
  return status;
}
