//===- cprt_transport.h - Worlds whose ranks send messages ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11. A world of processes, or of anything else that shares no memory:
// each of them makes a world of its own with one context, that of its rank, and
// all that goes between them is messages of a *transport*, a table of functions
// that the caller fills in. Programs run as on threads: results are the same
// bit by bit, and so are the bytes that are counted.
//
// Beside the transport every world has a connection to that of rank 0, which
// carries no data: over it ranks learn of failures of others with their texts,
// of processes that are gone, and, when one has waited for a while, of calls
// that differ or wait for each other.
//
//   cprt_job job = {0};
//   job.struct_size = sizeof(job);
//   job.rank = rank;
//   job.address = "node1:29500";
//   job.token = getenv("MY_JOB_TOKEN");
//   cprt_messages_create(&options, &job, &transport, &world, ...);
//   program(cprt_world_context(world, rank), buffers);
//   cprt_world_destroy(world);
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_TRANSPORT_H
#define CP_RUNTIME_CPRT_TRANSPORT_H

#include "cp/Runtime/cprt_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes from one rank to another. Between two ranks, messages of one tag are
/// received in the order in which they were sent; what is sent and what is
/// received as one have the same number of bytes, unless ranks run different
/// programs, which is an error to be reported.
typedef struct cprt_message {
  /// The rank that it goes to or comes from, never the own one.
  int64_t peer;
  int32_t is_receive;
  /// 0 to 32767. For engines without tags: in a world with a device, messages
  /// from one rank to another whose tags are equal modulo 4 are posted in one
  /// order at both ends, and those of one post whose tags are 2 or 3 modulo 4
  /// are such that all ranks can make them at once.
  int32_t tag;
  /// Not null; sent without being written to.
  void *data;
  /// From 1 on.
  int64_t bytes;
} cprt_message;

/// What carries messages, for one rank. Its functions are called from any
/// thread, one at a time. A failure's text is what `error` says next.
typedef struct cprt_transport {
  size_t struct_size;
  /// Handed to each function.
  void *state;
  /// For messages: "mpi". Lives as long as the transport.
  const char *name;
  int64_t rank;
  int64_t size;
  /// Starts all messages, in any order or at once, and returns without waiting
  /// for other ranks. `requests`, all null before, gets a handle for each.
  /// After a failure those that are not null are cancelled.
  cprt_status (*post)(void *state, const cprt_message *messages, int64_t count,
                      void **requests);
  /// Sets `*done` to whether a message has been sent, so that its memory may be
  /// written over, or has been received. The handle is gone then, and after a
  /// failure.
  cprt_status (*test)(void *state, void **request, int32_t *done);
  /// Gives a message up, with its handle: its memory is left alone from now on.
  /// Called for what is under way when a rank has failed.
  void (*cancel)(void *state, void *request);
  /// The text of the last failure; never null, and lives until the next call.
  const char *(*error)(void *state);
  /// With the world. `failed` says whether messages may be under way that
  /// nobody waits for.
  void (*destroy)(void *state, int32_t failed);
  /// For transports whose ends must know each other's addresses, or both null:
  /// gives this rank's, of at most 4096 bytes, which lives as long as the
  /// transport; and takes those of all ranks, before the first message.
  cprt_status (*address)(void *state, const void **data, size_t *bytes);
  cprt_status (*connect)(void *state, const void *const *addresses,
                         const size_t *bytes);
  /// Carries on with messages that are under way, for a rank that computes
  /// meanwhile; null for what moves them anyhow.
  void (*progress)(void *state);
  /// For transports whose messages pass through a device, or null: gives this
  /// rank's device and its queue there, of a world with one, once all ranks are
  /// known and before the first message. May wait for the other ranks, at most
  /// for so long. What is posted is in the host's memory all the same. In such
  /// a world calls are made in one order, deferred ones too.
  cprt_status (*bind)(void *state, const cprt_device *device, void *queue,
                      int64_t deadline_ms);
  /// post, of messages in the memory of the bound device, and behind all that
  /// `queue` has been given, the bound one or one beside it; or null. What has
  /// come is there when test says so.
  cprt_status (*post_on_device)(void *state, void *queue,
                                const cprt_message *messages, int64_t count,
                                void **requests);
  /// So that the host need not wait for a message of post_on_device, or null:
  /// what `queue` is given from now on starts once it has been sent, or has
  /// been received. Sets `*done` when that is so, which may be some calls
  /// later. The handle stays, and test says at some time what became of the
  /// message; cancelling it lets the queue go on.
  cprt_status (*follow)(void *state, void *queue, void *request, int32_t *done);
} cprt_transport;

/// Where a process stands in its job. Set `struct_size` to sizeof(cprt_job).
typedef struct cprt_job {
  size_t struct_size;
  /// Of the mesh in the options.
  int64_t rank;
  /// Where rank 0 listens and the others find it: "node1:29500",
  /// "[::1]:29500", or "unix:/run/job.socket" within one machine.
  const char *address;
  /// A secret that the processes of a job share, so that no other one joins it;
  /// at most 256 bytes. Without one (null or "") the address must be a loopback
  /// one. Goes to whoever listens at the address, as it is, and into no text.
  const char *token;
  /// Any number that tells programs apart: ranks with unlike ones do not make a
  /// world together.
  uint64_t program;
  /// Ranks that share this machine's processors, for options.threads 0; 0 means
  /// all of them.
  int64_t local_ranks;
  /// Of rank 0: one more than a socket that listens at the address already, and
  /// which the world takes; 0 for none.
  int32_t listener;
  /// One more than this rank's number among those of its machine, which says
  /// which of its cards it has; 0: they are numbered one after the other.
  int64_t local_rank;
} cprt_job;

/// Destroying the world of rank 0 waits for those of the others, at most for
/// the deadline: it hands on what they have to say to each other.
///
/// Makes this rank's world, once all others make theirs: within the deadline of
/// the options. The world owns what a transport refers to that is whole, and
/// destroys it, on failure too. CPRT_MISMATCH when ranks differ in their mesh
/// or their program, CPRT_INVALID_ARGUMENT for a wrong token, CPRT_TIMEOUT when
/// one does not come, and CPRT_UNSUPPORTED for an address that cannot be used.
/// The context of any other rank is null. Counters are this rank's own:
/// bytes_sent counts what it sends.
cprt_status cprt_messages_create(const cprt_options *options,
                                 const cprt_job *job,
                                 const cprt_transport *transport,
                                 cprt_world **world, char *message,
                                 size_t capacity);

/// For a process that has failed before it could make its world: tells those
/// who make theirs, who would wait for it until their deadline. They get
/// CPRT_PEER_FAILED with `why`. `size` is the number of the job's ranks.
/// Returns once they know, and at most after `deadline_ms` (0: 10 s):
/// CPRT_TIMEOUT when rank 0 was not reached, or, of rank 0, when not all others
/// came; the rest as cprt_messages_create has it.
cprt_status cprt_messages_decline(const cprt_job *job, int64_t size,
                                  const char *why, int64_t deadline_ms,
                                  char *message, size_t capacity);

/// What a plug-in exports, a shared library `libcprt_<name>.so`: fills in a
/// transport, and of the job all but `program`. Every process of the job calls
/// it; it may wait for the others, without a deadline, as MPI_Init does. What
/// the job points to lives as long as the transport. After CPRT_OK the
/// transport is for cprt_messages_create, or for its own `destroy`.
///
/// Both have their `struct_size` set, and CPRT_INVALID_ARGUMENT is for less
/// than what the plug-in fills in. All else is zero before, and the launcher's
/// environment says where the process stands; or the caller does, one that has
/// a job of its own: `rank` and `size` of the transport, from 1 on, and
/// `address`, `token`, `local_ranks`, `local_rank` and `listener` of the job,
/// all of which live until the world is made. CPRT_UNSUPPORTED from a plug-in
/// that knows its launcher's job only, as those of MPI do, unless that is the
/// same.
typedef cprt_status cprt_transport_open_fn(cprt_transport *transport,
                                           cprt_job *job, char *message,
                                           size_t capacity);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
cprt_status cprt_transport_open(cprt_transport *transport, cprt_job *job,
                                char *message, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_TRANSPORT_H */
