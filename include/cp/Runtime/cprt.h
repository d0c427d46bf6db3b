//===- cprt.h - The runtime that compiled programs call ----------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11. A *world* is a set of ranks arranged on a mesh; a *context* is one
// rank's place in it. A compiled program runs once per rank, with that rank's
// context, and is a flat list of calls to the functions of section "Program
// calls" below.
//
// Errors are sticky: the first failure of a rank is kept in its context and
// makes every later program call of that context return at once, so compiled
// code does not test each call. A failure also reaches every other rank: a rank
// that waits for a failed one returns CPRT_PEER_FAILED, and no wait outlives
// its deadline (CPRT_TIMEOUT). After an error the world is of no further use:
// destroy it and make another, in the same process if you like.
//
// A context takes one call at a time, from whichever thread: a program call
// during another one of the same context fails it (CPRT_INVALID_ARGUMENT).
//
// Ownership: whoever creates an object destroys it. Buffers handed to a call
// stay the caller's and must live until the stream has passed the call.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_H
#define CP_RUNTIME_CPRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPRT_VERSION_MAJOR 0
#define CPRT_VERSION_MINOR 25

/// Major version in the upper 16 bits, minor in the lower 16.
uint32_t cprt_api_version(void);

typedef enum cprt_status {
  CPRT_OK = 0,
  /// A descriptor, a buffer or an option that the call cannot accept.
  CPRT_INVALID_ARGUMENT = 1,
  CPRT_OUT_OF_MEMORY = 2,
  /// A peer did not arrive at a collective within the deadline.
  CPRT_TIMEOUT = 3,
  /// A peer failed; its own context says why.
  CPRT_PEER_FAILED = 4,
  /// The ranks met at different collectives, or with different descriptors.
  CPRT_MISMATCH = 5,
  /// No kernel for this operation and element type, or no such feature.
  CPRT_UNSUPPORTED = 6,
  /// A device does not do what it should: a fault in a kernel, say. What its
  /// memory holds is lost.
  CPRT_DEVICE_FAILED = 7
} cprt_status;

/// A short name such as "CPRT_TIMEOUT"; never null.
const char *cprt_status_name(cprt_status status);

typedef enum cprt_dtype {
  CPRT_F32 = 0,
  CPRT_F64 = 1,
  CPRT_BF16 = 2,
  CPRT_I32 = 3,
  CPRT_I64 = 4,
  /// In a call, of an input that it leaves out.
  CPRT_ABSENT = -1
} cprt_dtype;

/// Bytes of one element; 0 for a value outside the enum.
size_t cprt_dtype_size(cprt_dtype dtype);

typedef struct cprt_world cprt_world;
typedef struct cprt_context cprt_context;

/// Orders calls on a device. Null: a context has one order of its own, and
/// without a device every call has run when it returns.
typedef struct cprt_stream cprt_stream;

/// Where tensors are, other than in the host's memory; see cprt_device.h.
typedef struct cprt_device cprt_device;

typedef enum cprt_kernel_set {
  /// The fastest kernel there is for this machine.
  CPRT_KERNELS_FAST = 0,
  /// The plain loops that serve as numerical oracle.
  CPRT_KERNELS_REFERENCE = 1
} cprt_kernel_set;

/// Memory of a caller's own, for what ranks allocate for their programs and
/// their callers: cprt_alloc, cprt_arena, cprt_device_alloc, copies of
/// constants. Of a device where the world has one. What calls of the runtime
/// work with beside it is their own. Ranks of one process ask at any time, each
/// from its thread.
typedef struct cprt_allocator {
  /// Set to sizeof(cprt_allocator).
  size_t struct_size;
  /// Handed to each function.
  void *state;
  /// 64-byte aligned, of a device 256; null where there is no such block.
  /// `bytes` may be 0. `stream` is what libraries of the device call the rank's
  /// queue (a cudaStream_t), in whose order the block is used; null on a host.
  void *(*allocate)(void *state, int64_t bytes, void *stream);
  /// What has been given to the stream may still use it.
  void (*release)(void *state, void *pointer, void *stream);
} cprt_allocator;

/// Set `struct_size` to sizeof(cprt_options); zero means the default elsewhere.
/// What a caller compiled with an older header lacks has its default; what one
/// with a newer header has more must be zero, or the options are refused.
typedef struct cprt_options {
  size_t struct_size;
  /// The mesh, major axis first: rank = ((c0 * size1) + c1) * size2 + ...
  /// (as ncclCommSplit's key order, or MPI_Cart_create without reorder).
  int32_t num_axes;
  const int64_t *axis_sizes;
  /// How long one collective may wait for its peers; 0 means 60 000.
  int64_t deadline_ms;
  cprt_kernel_set kernels;
  /// How many threads the kernels of one rank may use, the rank's own included,
  /// at most 1024; 0 shares between the ranks of a machine its processors, or
  /// those that the process may run on, one at least. No result depends on it,
  /// but that of cprt_ssd with fewer heads in its batch than threads, which is
  /// cut into segments as between ranks.
  int64_t threads;
  /// Null: tensors are in the host's memory. It must outlive the world.
  const cprt_device *device;
  /// Operations that compute, and that the device has no kernel for: 0, they
  /// are CPRT_UNSUPPORTED; 1, the host computes them, on copies.
  int32_t device_fallback;
  /// 0: the ranks of a machine have the device's cards in turn. Otherwise one
  /// more than the number of the card that the first rank of this process has;
  /// its others have those behind it, in turn.
  int64_t device_number;
  /// Null: the runtime's own memory. It must outlive the world.
  const cprt_allocator *allocator;
} cprt_options;

/// Makes a world of threads: its ranks share the process, each rank's calls
/// come from a thread of the caller's. On failure `*world` is null and
/// `message` (when not null) receives a terminated text of at most `capacity`
/// bytes. The caller owns `*world`.
cprt_status cprt_threads_create(const cprt_options *options, cprt_world **world,
                                char *message, size_t capacity);

/// No rank may be inside a call any more.
void cprt_world_destroy(cprt_world *world);

int64_t cprt_world_size(const cprt_world *world);

/// The context of `rank`, owned by the world; null for a rank outside it.
cprt_context *cprt_world_context(cprt_world *world, int64_t rank);

int64_t cprt_context_rank(const cprt_context *context);

/// The first failure of this rank, and its text ("" when there is none; the
/// text lives as long as the context).
cprt_status cprt_context_status(const cprt_context *context);
const char *cprt_context_message(const cprt_context *context);

/// Marks this rank as failed, which wakes every rank that waits for it. For
/// callers whose own code fails between two calls. Keeps an earlier failure.
void cprt_context_fail(cprt_context *context, cprt_status status,
                       const char *message);

/// What one kind of collective over one set of mesh axes has moved.
typedef struct cprt_counter {
  /// "all_to_all", "halo", ...; static storage.
  const char *op;
  /// Bit i stands for mesh axis i.
  uint64_t axes;
  /// How often this rank took part.
  int64_t calls;
  /// Bytes that went from this rank to others.
  int64_t bytes_sent;
  /// Seconds in which this rank did nothing else: it waited for the others, or
  /// moved what they exchange. Where it computes while bytes travel, those
  /// seconds are no part of it, nor those in which only its device waits.
  double exposed_seconds;
} cprt_counter;

/// Writes at most `capacity` counters, sorted by op and axes, and returns how
/// many there are. To be called when no rank is inside a call.
size_t cprt_context_counters(const cprt_context *context, cprt_counter *out,
                             size_t capacity);
void cprt_context_reset_counters(cprt_context *context);

/// The largest number of bytes that cprt_alloc had handed out at one time, and
/// the number of allocations, since the last reset_counters. Allocations are
/// all that this rank's calls made: of the program (cprt_alloc, cprt_arena), of
/// collectives (staging, lists) and of kernels (working memory). What is not
/// the program's is kept for the next call on the same thread, so that a step
/// like one before it allocates nothing.
int64_t cprt_context_peak_bytes(const cprt_context *context);
int64_t cprt_context_allocations(const cprt_context *context);

//===----------------------------------------------------------------------===//
// Program calls
//===----------------------------------------------------------------------===//

/// 64-byte aligned memory of this rank; null after a failure. The context keeps
/// hold of it: what a failed program has not freed goes with the world.
/// A negative number of bytes fails. cprt_free of null does nothing; of memory
/// that cprt_alloc has not given this rank, its arena too, it fails.
void *cprt_alloc(cprt_context *context, int64_t bytes);
void cprt_free(cprt_context *context, void *pointer);

/// This rank's arena: 64-byte aligned memory of at least `bytes` that stays the
/// same from step to step, so that a program allocates in its first step only.
/// Two programs of one context share it and must not run at one time. Null
/// after a failure; a negative number of bytes fails. It counts as one
/// allocation when it is made or grown.
void *cprt_arena(cprt_context *context, int64_t bytes);

/// Runs compiled code of the program's own: `kernel(buffers)`, unless this rank
/// has failed already.
void cprt_launch(cprt_context *context, cprt_stream *stream,
                 void (*kernel)(void *const *buffers), void *const *buffers);

/// Code of a program's own that a device may run.
typedef struct cprt_kernel {
  /// For the host.
  void (*run)(void *const *buffers);
  /// Of what is at `code`, terminated text of PTX, which starts `threads`
  /// threads, each with the pointers of all `num_buffers` buffers; null where
  /// the program was compiled for the host alone.
  const char *code;
  const char *name;
  int64_t num_buffers;
  int64_t threads;
} cprt_kernel;
/// Runs it where this rank's tensors are, unless the rank has failed already.
/// `kernel` lives as long as the context.
void cprt_launch_kernel(cprt_context *context, cprt_stream *stream,
                        const cprt_kernel *kernel, void *const *buffers);
/// Where this rank's kernels find a constant of the program: as it is, or a
/// copy on the device, one for the context's life. Null after a failure.
void *cprt_constant(cprt_context *context, const void *value, int64_t bytes);

/// What a program that is also for devices says first: all operations that it
/// calls, a line "name dtype" each, where the dtype is the number of that which
/// the call is made for. A device that has no kernel of some, and must not fall
/// back, fails the context with CPRT_UNSUPPORTED and the names of all of these,
/// before anything has run. `operations` lives as long as the context.
void cprt_require(cprt_context *context, const char *operations);

/// Every operation has this form. `buffers` holds the inputs, then the outputs.
/// `desc` is a constant table of 64-bit words:
///
///   desc[0]  number of inputs      desc[2]  number of attribute words
///   desc[1]  number of outputs     desc[3]  id of the call in the program
///   then per buffer: dtype, rank, sizes[rank], strides[rank] (in elements)
///   then the attribute words, in the order listed below: an integer or a bool
///   is one word, a float the bits of a double, an array (marked []) its length
///   and its elements.
///
/// Inputs marked ? may be left out. One that is has the type CPRT_ABSENT and
/// rank 0, and its pointer is not read; those at the end of the list need not
/// be counted.
///
/// Sizes in brackets are the same for all tensors of a call that name them; ...
/// are any leading ones, and one in brackets of its own may be missing.
///
/// Types. What computes takes f32, f64 or bf16, one type for all floating-point
/// buffers of a call unless its op says otherwise; what only moves elements
/// takes any. bf16 is storage: sums and states are f32, log decays f64, and
/// each element of an output is rounded once, to nearest even, NaN kept. On
/// processors that multiply bf16, fast kernels also round what a scan
/// multiplies beside x, B and C: weights, decayed inputs, and the state that C
/// reads, but not the state that is carried on. To fast kernels, and where
/// states of ranks or parts of attention are combined, numbers too small to be
/// normal are 0, on x86-64 and AArch64.
///
/// Places. `places` say where each row stands in the sequence that it belongs
/// to, where several follow each other in one, as packed documents do: 0, 1, 2,
/// ... for its tokens, and -1 behind them for a row that is no token. The first
/// row of a part may have any. Nothing passes from one sequence to the next,
/// what is infinite or NaN included; a row that is no token leaves a state as
/// it is, and its results are 0 (of attention, lse is -inf). Places that count
/// otherwise between two rows of a call are CPRT_INVALID_ARGUMENT; on a device
/// they are not looked at, and what rows see is undefined then.
///
/// Orders. An `order` says what position r of R holds of a dimension: 0,
/// contiguous, block r of R; 1, zigzag, blocks r and 2R-1-r of 2R; 1 + u,
/// striped, the runs r, r+R, r+2R, ... of u elements.
typedef void cprt_op(cprt_context *context, cprt_stream *stream,
                     const int64_t *desc, void *const *buffers);

#include "cp/Runtime/LocalOperations.h.inc"

/// Collectives. `axes` lists positions of mesh axes, major to minor; the group
/// of a rank is the ranks that differ from it in these coordinates only, and
/// its position in the group is the mixed-radix number of those coordinates.
/// All ranks of a group must make the same calls in the same order: equal ids,
/// types, sizes and attributes (strides are each rank's own), or all of them
/// get CPRT_MISMATCH. No output may be the memory of an input.
#include "cp/Runtime/GroupOperations.h.inc"

/// Begins a call of `op`, which may go on when this returns, and beside the
/// calls that follow, until cprt_wait with its outputs: `desc` and what
/// `buffers` point to (not `buffers` itself) stay until then, and nobody writes
/// to them, or reads the outputs. All ranks of a group begin calls in one
/// order; where these differ they are CPRT_TIMEOUT at the deadline. What goes
/// wrong is this context's failure. A world is destroyed once its calls have
/// been waited for. On threads, and with a stream, the call is made at once. On
/// a device whose order exchanges keep (cprt_device.h) it goes on beside the
/// device's work, and it is the device that waits.
/// `op` is not one that computes as it goes, as along a ring.
void cprt_begin(cprt_context *context, cprt_stream *stream, const int64_t *desc,
                void *const *buffers, cprt_op *op);
/// Returns when the calls that were begun with these outputs have ended;
/// without one, at once. `desc` as of an operation without attributes. To be
/// called after a failure too, before buffers go.
void cprt_wait(cprt_context *context, cprt_stream *stream, const int64_t *desc,
               void *const *buffers);

//===----------------------------------------------------------------------===//
// Operations of your own
//===----------------------------------------------------------------------===//

/// What an operation is called with. `cp-tblgen -gen-c-readers` makes it, and a
/// reader that gives every tensor and attribute by its name, of a table as
/// Operations.td (cp/Runtime/OperationBase.td says how to write one).
typedef enum cprt_presence {
  CPRT_REQUIRED = 0,
  CPRT_OPTIONAL = 1,
  /// Any number of them: how many there are is not checked.
  CPRT_VARIADIC = 2
} cprt_presence;
typedef enum cprt_word_kind {
  /// 0 or 1.
  CPRT_WORD_FLAG = 0,
  /// At least `least`.
  CPRT_WORD_INTEGER = 1,
  CPRT_WORD_SIGNED = 2,
  /// The bits of a double, no NaN.
  CPRT_WORD_REAL = 3,
  /// A length, and so many words.
  CPRT_WORD_ARRAY = 4
} cprt_word_kind;
typedef struct cprt_tensor {
  const char *name;
  cprt_presence presence;
} cprt_tensor;
typedef struct cprt_attribute {
  const char *name;
  cprt_word_kind kind;
  int64_t least;
} cprt_attribute;
typedef struct cprt_signature {
  const char *name;
  const cprt_tensor *ins;
  size_t num_ins;
  const cprt_tensor *outs;
  size_t num_outs;
  const cprt_attribute *attributes;
  size_t num_attributes;
} cprt_signature;

/// A strided tensor of a call. `sizes` and `strides` (in elements) are those of
/// the call's table. One that the call leaves out has the type CPRT_ABSENT, and
/// null in place of data, which one without elements may have too.
typedef struct cprt_buffer {
  void *data;
  cprt_dtype dtype;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides;
} cprt_buffer;

/// Reads what an operation of your own was called with; what types and sizes
/// its tensors must have is for you to check. Gives 1 and writes its
/// inputs and outputs to `buffers_read`, one for each of the signature's
/// tensors (of a variadic one, for each of the call's: provide for 128), and to
/// `attributes` where the words of each begin. Otherwise 0, and the context has
/// failed with CPRT_INVALID_ARGUMENT: the call is not of the signature's form,
/// a buffer is null, not aligned or too large, or an output overlaps itself.
int cprt_read_call(cprt_context *context, const cprt_signature *signature,
                   const int64_t *desc, void *const *buffers,
                   cprt_buffer *buffers_read, const int64_t **attributes);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_H */
