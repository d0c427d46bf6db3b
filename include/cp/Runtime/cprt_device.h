//===- cprt_device.h - Ranks whose tensors are on a device ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11. A *device* is a table of functions that a plug-in fills in: memory
// of its own, queues in whose order calls run, and kernels. A world that is
// made with one (cprt_options) gives each of its ranks a queue, and its
// programs work on memory of the device: what cprt_alloc, cprt_arena and
// cprt_device_alloc give, and what is uploaded there.
//
//   cprt_device device = {sizeof(device)};
//   cprt_device_open(&device, message, sizeof message); // of libcprt_cuda.so
//   options.device = &device;
//   cprt_threads_create(&options, &world, ...);
//   void *x = cprt_device_alloc(context, bytes);
//   cprt_upload(context, x, host, bytes);
//   program(context, NULL, buffers);                    // starts the work
//   cprt_download(context, host, y, bytes);             // waits for it
//
// Collectives work within the device's memory where ranks share it, or their
// transport reaches it, and the device has kernels of what they do beside
// `copy`: `sum_rows`; `join_states` and `join_decays`; `attention` and
// `attention_merge`; `attention_grad_block` and `accumulate`
// (kernels/cpu/Kernels.h); places within documents are found by
// `document_places`, but for orders per document. Elsewhere the host has what
// they move. Where that keeps the device's order, as NCCL does, they have begun
// when they return, as kernels have: what goes wrong with one is this context's
// failure once somebody waits for the device, or as soon as a rank fails or the
// deadline has passed.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_DEVICE_H
#define CP_RUNTIME_CPRT_DEVICE_H

#include "cp/Runtime/cprt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One operation on buffers in the device's memory; what it means, and the
/// order of its words, as in cprt.h. `attention` has the words of
/// kernels/cpu/Kernels.h in place of its axes: positions are known by then.
typedef struct cprt_device_call {
  const char *op;
  /// Of its first floating-point buffer.
  cprt_dtype dtype;
  const cprt_buffer *ins;
  size_t num_ins;
  const cprt_buffer *outs;
  size_t num_outs;
  const int64_t *attributes;
  size_t num_attributes;
} cprt_device_call;

/// Its functions are called from any thread, those of one queue one at a time.
/// A failure's text is what `error` says next.
typedef struct cprt_device {
  size_t struct_size;
  /// Handed to each function that takes no queue.
  void *state;
  /// For messages: "cuda". Lives as long as the device.
  const char *name;
  /// Whether the host can read its memory, and so run a program's own code.
  int32_t is_host_memory;
  /// A queue for the rank that is the `number`th of its process.
  cprt_status (*open)(void *state, int64_t number, void **queue, char *message,
                      size_t capacity);
  /// When all that was allocated on it has been released.
  void (*close)(void *queue);
  /// 256-byte aligned; null where there is no such block. Freed memory may
  /// still be used by what was started before.
  void *(*allocate)(void *queue, int64_t bytes);
  void (*release)(void *queue, void *pointer);
  /// Memory of the host for what is brought over again and again, from which
  /// copies are fast; or both null. What is uploaded from there may be read
  /// until synchronize returns.
  void *(*allocate_host)(void *queue, int64_t bytes);
  void (*release_host)(void *queue, void *pointer);
  /// The bytes that allocate may still give: of what queues share, an equal
  /// part for each that is open. -1 where nobody knows.
  int64_t (*free_bytes)(void *queue);
  /// Whether there is a kernel of an operation for this type.
  int (*has_kernel)(void *state, const char *op, cprt_dtype dtype);
  /// Starts one. CPRT_INVALID_ARGUMENT where its buffers do not fit it.
  cprt_status (*run)(void *queue, const cprt_device_call *call);
  /// Starts code of a program's own: CPRT_UNSUPPORTED where there is none for
  /// this device.
  cprt_status (*launch)(void *queue, const cprt_kernel *kernel,
                        void *const *buffers);
  /// Between the host and the device, behind what was started before. The
  /// host's memory may be used again when upload returns, and read after
  /// synchronize when download has.
  cprt_status (*upload)(void *queue, void *to, const void *from, int64_t bytes);
  cprt_status (*download)(void *queue, void *to, const void *from,
                          int64_t bytes);
  /// Waits for all that was started. What has gone wrong in it: what a kernel
  /// found in its data is CPRT_INVALID_ARGUMENT, or CPRT_MISMATCH where ranks
  /// were given different data, and a fault CPRT_DEVICE_FAILED.
  cprt_status (*synchronize)(void *queue);
  /// The text of the queue's last failure; never null, and lives until its next
  /// call.
  const char *(*error)(void *queue);
  /// When no world uses it any more.
  void (*destroy)(void *state);
  /// What a transport needs that moves the device's memory itself, as that of
  /// NCCL, and exchanges for which the host does not wait; or all null.
  ///
  /// Another queue on the same card, whose calls run beside those of `queue`;
  /// takes no part of free_bytes, and is closed by close.
  cprt_status (*open_beside)(void *queue, void **beside);
  /// What libraries of the device call the queue: a cudaStream_t.
  void *(*stream)(void *queue);
  /// Marks what the queue has been given so far: `*event`, null before the
  /// first time, can be marked again, and is forgotten by forget, to which any
  /// queue is given.
  cprt_status (*record)(void *queue, void **event);
  /// What the queue is given from now on starts when all that an event of any
  /// queue marks is done; that it is marked again changes nothing about it.
  cprt_status (*wait_for)(void *queue, void *event);
  /// Whether all that it marks is done.
  cprt_status (*query)(void *queue, void *event, int32_t *done);
  void (*forget)(void *queue, void *event);
  /// Whether kernels of queue `number` of this process read the memory that
  /// queue `other` has allocated. Null where none do.
  int32_t (*shares_memory)(void *state, int64_t number, int64_t other);
  /// Order between the queue and another stream of the same card, as libraries
  /// of the device call it (a cudaStream_t, null the default one), or both
  /// null: what the queue is given from now on starts when all that the stream
  /// has been given is done; and what the stream is given from now on, when all
  /// of the queue is.
  cprt_status (*run_after)(void *queue, void *stream);
  cprt_status (*run_before)(void *queue, void *stream);
  /// What a queue is given to run and to launch between the first two does not
  /// start: `*recording`, which it has become, is started as one piece of work
  /// as often as replay is asked for it, on the same memory, until discard (a
  /// CUDA graph). The queue is asked for nothing else in between. Or all null.
  cprt_status (*begin_recording)(void *queue);
  cprt_status (*end_recording)(void *queue, void **recording);
  cprt_status (*replay)(void *queue, void *recording);
  void (*discard)(void *queue, void *recording);
} cprt_device;

/// What a plug-in exports, a shared library `libcprt_<name>.so`. `struct_size`
/// is set, all else is zero before; CPRT_INVALID_ARGUMENT where that is less
/// than what the plug-in fills in. CPRT_UNSUPPORTED, with a text that says
/// what to do, where there is no such device or it is too old.
typedef cprt_status cprt_device_open_fn(cprt_device *device, char *message,
                                        size_t capacity);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
cprt_status cprt_device_open(cprt_device *device, char *message,
                             size_t capacity);

/// The bytes that this rank's device may still give it, of what several ranks
/// share an equal part; -1 where nobody knows, and without a device.
int64_t cprt_device_free_bytes(cprt_context *context);
/// Memory for what a program is handed: of this rank's device, or of the host
/// in a world without one. 64-byte aligned; null after a failure. It goes with
/// the world, and counts neither as the program's memory nor as an allocation.
void *cprt_device_alloc(cprt_context *context, int64_t bytes);
/// Copies between the host's memory and that of cprt_device_alloc. Behind
/// cprt_download, and cprt_synchronize, all that the context has begun is done.
/// What has gone wrong on the device is this context's failure then.
void cprt_upload(cprt_context *context, void *to, const void *from,
                 int64_t bytes);
void cprt_download(cprt_context *context, void *to, const void *from,
                   int64_t bytes);
void cprt_synchronize(cprt_context *context);
/// Order between this rank's calls and a caller's own stream, without the host:
/// calls from now on see what the stream has been given so far, and what the
/// stream is given from now on sees what the calls did so far. `stream` is what
/// libraries of the device call it: a cudaStream_t of the same card, null for
/// its default stream. In a world without a device, where calls have ended when
/// they return, both do nothing. CPRT_UNSUPPORTED of a device without streams.
/// After a failure cprt_run_before still does so, since what has been started
/// may go on. A device may leave its card the calling thread's current one.
///
///   cprt_run_after(context, stream);
///   program(context, NULL, buffers);   /* of the caller's memory */
///   cprt_run_before(context, stream);
void cprt_run_after(cprt_context *context, void *stream);
void cprt_run_before(cprt_context *context, void *stream);
/// The function of a program: `run` of a cprt_entry.
typedef void cprt_program_run(cprt_context *context, cprt_stream *stream,
                              void *const *buffers);
/// `run(context, NULL, buffers)`, which the device may keep to start it sooner
/// the next time: where it records (CUDA graphs), the second run with the same
/// buffers is recorded, and from the third on one request starts all that lies
/// between two calls which other ranks or the host have a part in; a program
/// without such calls is not even called then. The program makes the same calls
/// each time, of tables that stay where they are, as compiled ones do, whatever
/// its buffers hold; of those that differ most are CPRT_MISMATCH. One that
/// calls cprt_alloc is run as it is. The last eight are kept. Without a device
/// that records, it is the call alone.
void cprt_run_recorded(cprt_context *context, cprt_program_run *run,
                       void *const *buffers, size_t num_buffers);
/// Calls `op` with buffers in the host's memory, whatever device there is.
void cprt_on_host(cprt_context *context, cprt_op *op, const int64_t *desc,
                  void *const *buffers);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_DEVICE_H */
