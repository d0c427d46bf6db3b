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
#define CPRT_VERSION_MINOR 5

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
  CPRT_UNSUPPORTED = 6
} cprt_status;

/// A short name such as "CPRT_TIMEOUT"; never null.
const char *cprt_status_name(cprt_status status);

typedef enum cprt_dtype {
  CPRT_F32 = 0,
  CPRT_F64 = 1,
  CPRT_BF16 = 2,
  CPRT_I32 = 3,
  CPRT_I64 = 4
} cprt_dtype;

/// Bytes of one element; 0 for a value outside the enum.
size_t cprt_dtype_size(cprt_dtype dtype);

typedef struct cprt_world cprt_world;
typedef struct cprt_context cprt_context;

/// Orders calls on a device. The threads backend runs every call before it
/// returns, and takes a null stream.
typedef struct cprt_stream cprt_stream;

typedef enum cprt_kernel_set {
  /// The fastest kernel there is for this machine.
  CPRT_KERNELS_FAST = 0,
  /// The plain loops that serve as numerical oracle.
  CPRT_KERNELS_REFERENCE = 1
} cprt_kernel_set;

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
  /// at most 1024; 0 shares the machine's processors between the ranks, one at
  /// least. No result depends on it, but that of cprt_ssd with fewer heads in
  /// its batch than threads, which is cut into segments as between ranks.
  int64_t threads;
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
  /// Bytes that other ranks took from this one.
  int64_t bytes_sent;
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

/// Every operation has this form. `buffers` holds the inputs, then the outputs.
/// `desc` is a constant table of 64-bit words:
///
///   desc[0]  number of inputs      desc[2]  number of attribute words
///   desc[1]  number of outputs     desc[3]  id of the call in the program
///   then per buffer: dtype, rank, sizes[rank], strides[rank] (in elements)
///   then the attribute words, in the order listed below: an integer or a bool
///   is one word, a float the bits of a double, an array its length and its
///   elements.
///
/// Inputs marked ? are left out when their has_* attribute is 0.
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
/// Orders. An `order` says what position r of R holds of a dimension: 0,
/// contiguous, block r of R; 1, zigzag, blocks r and 2R-1-r of 2R; 1 + u,
/// striped, the runs r, r+R, r+2R, ... of u elements.
typedef void cprt_op(cprt_context *context, cprt_stream *stream,
                     const int64_t *desc, void *const *buffers);

/// outs C[..., n] = A[..., k] * op(W) (+ C).  ins A, W.
/// attrs accumulate, transpose_b (1: W is [n, k]; 0: W is [k, n]).
cprt_op cprt_matmul;
/// Causal depthwise convolution along dim 1.
/// ins x[b,l,c], weight[c,w], bias?[c], initial?[b,w-1,c]; outs y[b,l,c].
/// y[t] = bias + sum_k weight[k] * x[t-(w-1)+k]; rows before 0 come from
/// `initial`, or are zero; then y * sigmoid(y) when silu.
/// attrs has_bias, has_initial, silu.
cprt_op cprt_conv1d;
/// The Mamba-2 scan (state space duality). delta = clamp(softplus(dt+dt_bias),
/// dt_min, dt_max), a = exp(-exp(A_log) * delta), head h uses group h*g/heads:
///   S = a S + delta x B^T,   y = S C + D x.
/// ins x[b,l,h,p], dt[b,l,h], A_log[h], B[b,l,g,n], C[b,l,g,n], D?[h] or [h,p],
/// dt_bias?[h], initial?[b,h,p,n]; outs y[b,l,h,p], final_state[b,h,p,n].
/// attrs chunk_size, dt_max, dt_min, has_D, has_dt_bias, has_initial.
cprt_op cprt_ssd;
/// First half of a scan whose incoming state is not known yet. With chunks of
/// chunk_size tokens (the last one may be shorter), c = ceil(l / chunk_size):
/// ins x, dt, A_log, B, dt_bias?; outs
///   decay[b,h]               product of a over all tokens
///   state[b,h,p,n]           final state when the incoming one is zero
///   chunk_states[b,c,h,p,n]  final state of each chunk from zero
///   delta[b,l,h]
/// With bf16 inputs all four outputs are f32.
/// attrs chunk_size, dt_max, dt_min, has_dt_bias.
cprt_op cprt_ssd_states;
/// Second half: the incoming state is prefix_decay * initial + prefix_state.
/// ins x, A_log, B, C, D?, chunk_states, delta, prefix_decay[b,h],
/// prefix_state[b,h,p,n], initial?[b,h,p,n]; outs y, final_state. Log decays
/// are formed of delta and A_log again, as cprt_ssd forms them: what is summed
/// in double must not be handed over in less.
/// With bf16 x, A_log, B, C, D and y all the others are f32.
/// attrs chunk_size, has_D, has_initial.
cprt_op cprt_ssd_scan;
/// Softmax attention: query head i uses key head i * hkv / hq, and
///   o = sum_j w_j v_j / sum_j w_j,   w_j = exp(scale q . k_j),
///   lse = log(sum_j w_j)
/// over the keys that the query sees: all; with causal those at its own place
/// in the whole sequence and before; with window > 0, which wants causal, the
/// last `window` of these. A query that sees no key has o = 0, lse = -inf.
/// ins q[b,l,hq,d], k[b,s,hkv,d], v[b,s,hkv,dv]; outs o[b,l,hq,dv],
/// lse[b,hq,l], which is f32 with bf16 q, k, v and o.
/// q_axes are the mesh axes, major to minor, that cut the queries' sequence,
/// each by its entry in q_orders, so that this rank's rows have places in the
/// whole; k_axes and k_orders likewise. Empty arrays: all of it is here.
/// Causal wants whole sequences of one length. Moves nothing between ranks.
/// attrs causal, k_axes, k_orders, q_axes, q_orders (arrays), scale, window.
cprt_op cprt_attention;
/// RMS over each of `groups` equal parts of the last dim.
/// ins x[...,c], weight?[c], gate?[...,c]; outs y. gate_first: normalise
/// x*silu(gate); otherwise normalise x and multiply by silu(gate) at the end.
/// attrs eps, gate_first, groups, has_gate, has_weight.
cprt_op cprt_rms_norm;
/// Rotary position embedding of the first `dims` channels (even) of each head,
/// in halves: with k = dims / 2, i < k and the angle
/// a = positions[l] * theta^(-2i/dims), which is kept in f64,
///   y[i] = x[i] cos a - x[i+k] sin a,   y[i+k] = x[i+k] cos a + x[i] sin a;
/// the other channels stay. ins x[b,l,h,p], positions[l] (i64); outs
/// y[b,l,h,p]. attrs dims, theta.
cprt_op cprt_rotary;
/// The places in the whole sequence of this rank's rows, when the sequence is
/// cut over mesh axes `axes`, major to minor, each by its entry in `orders`, as
/// q_axes and q_orders of cprt_attention. Empty arrays: all of it is here. No
/// ins; outs positions[l] (i64). attrs axes, orders (arrays).
cprt_op cprt_positions;
/// outs y[..., d] = table[ids[...], :].  ins ids (i32 or i64), table[v,d].
/// An id outside [0, v) is CPRT_INVALID_ARGUMENT. No attrs.
cprt_op cprt_embedding;
/// outs dst = src, any strides, same sizes. No attrs.
cprt_op cprt_copy;
/// Repeats each run of `unit` elements of `dim` `times` times in place:
/// [u0 u1] -> [u0 u0 u1 u1] for times = 2.  attrs dim, times, unit.
cprt_op cprt_repeat;

/// Collectives. `axes` lists positions of mesh axes, major to minor; the group
/// of a rank is the ranks that differ from it in these coordinates only, and
/// its position in the group is the mixed-radix number of those coordinates.
/// All ranks of a group must make the same calls in the same order: equal ids,
/// types, sizes and attributes (strides are each rank's own), or all of them
/// get CPRT_MISMATCH. No output may be the memory of an input.

/// k inputs, k outputs. Tensor i is cut over the group along concat_dims[i]
/// (each rank holds the part that concat_orders[i] gives it) and leaves cut
/// along split_dims[i] by split_orders[i]. With repeat_times[i] > 1 the split
/// dim is first repeated as by cprt_repeat with unit repeat_units[i].
/// attrs axes, concat_dims, concat_orders, repeat_times, repeat_units,
/// split_dims, split_orders (arrays).
cprt_op cprt_all_to_all;
/// The whole of `dim` from the parts that `order` gives each rank.
/// attrs axes, dim, order.
cprt_op cprt_all_gather;
/// This rank's part of `dim`; moves nothing between ranks.
/// attrs axes, dim, order.
cprt_op cprt_slice;
/// Sum over the group, added in the order of the group's positions (bf16 in
/// f32, rounded once); f32, f64 or bf16.  attrs axes.
cprt_op cprt_all_reduce;
/// The same sum, each rank keeping its part of `dim`.  attrs axes, dim, order.
cprt_op cprt_reduce_scatter;
/// The input of the rank `offset` positions earlier in the group; zeros where
/// there is none.  attrs axes, offset.
cprt_op cprt_shift;
/// k inputs x_i, then with has_initial k inputs initial_i; k outputs: the
/// `rows` rows along `dim` that come before this rank's x_i in the sequence, or
/// with reverse those behind it. They are held by the neighbour, and by those
/// beyond it where it has fewer. Of rows that the sequence does not have these
/// are the nearest of initial_i, which has as many, or zeros. attrs axes, dim,
/// has_initial, order, reverse, rows.
///
/// With order 1 (zigzag) the rank at position p of R holds, one behind the
/// other along `dim`, the parts p and 2R-1-p of 2R of a sequence, and an output
/// has twice `rows` rows: those next to the first part, then those next to the
/// second.
///
/// Of parts of L rows each sends min(L, rows - (n-1) L) rows, if that is above
/// 0, to the n-th part behind it (with reverse, before it), unless this is on
/// the same rank. Orders above 1 are CPRT_UNSUPPORTED.
cprt_op cprt_halo;
/// Exclusive prefix over the group, in the order of its positions, of
///   (decay1, state1) + (decay2, state2) = (decay1 decay2, decay2 state1 +
///   state2)
/// with identity (1, 0). decay's sizes are a prefix of state's; f32 or f64.
/// ins decay, state; outs decay, state, and with total the sum of all on every
/// rank: decay, state.
/// attrs algorithm, axes, order, reverse, total. With R ranks, S bytes of
/// state, D of decay and m = S + D, the rank at position p sends
///   0 chain       m, the last rank 0. Each rank hands its inclusive prefix to
///                 the next: R - 1 steps.
///   1 gather      m. All summaries to all ranks, which fold: 1 step.
///   2 doubling    m for each k >= 0 with p + 2^k < R, and m but for the last
///                 rank: position 0 ceil(log2 R) m + m. In step k each rank
///                 takes what the one 2^k positions earlier has folded so far;
///                 the last step takes the previous rank's inclusive prefix.
///   3 pipelined   m, the last rank 0. The chain in K blocks: R - 1 + K - 1
///                 steps of m / K. K grows with R and m: see ScanChain.cpp.
///   4 transposed  (S - S_p) + (R-1) S_p + (R-1) D, where S_p is the slice of
///                 position p of the flattened state: its n elements in R parts
///                 in a row, the first n mod R of them one longer; that is
///                 2 (R-1)/R S + (R-1) D when R divides n. Each rank folds its
///                 slice for all ranks, between two exchanges: 2 steps.
/// All add from left to right and give the same bits, except doubling. In a
/// group of one nothing is sent.
///
/// With order 1 (zigzag) a rank brings the summaries of its two parts, number p
/// and 2R-1-p of 2R: dim 0 of all buffers is even, and its elements 2i and 2i+1
/// belong to the first and to the second part (so the states of x[2b, l/2,
/// ...], which is x[b, l, ...] in halves, are scanned as they are). The results
/// are those, bit by bit, of 2R ranks that hold one part each. S, D and m are
/// then of one part, and the rank at position p sends
///   0 chain       m, but not at R-1, and m, but not at 0. Forth through the
///                 first parts and back through the second: 2R - 2 steps.
///   1 gather      2 m: 1 step.
///   2 doubling    for each of its parts n, m for each k >= 0 with n + 2^k <
///   2R,
///                 and m but for the last part; neither what part R-1 hands to
///                 part R, which is on the same rank: ceil(log2 2R) + 1 steps.
///   3 pipelined   as the chain, in 2R - 2 + K - 1 steps of m / K.
///   4 transposed  2 (S - S_p) + 2 S_p + 2 D: 2 steps.
/// Orders above 1 are CPRT_UNSUPPORTED.
///
/// With reverse the state goes from the last position to the first: all is as
/// if positions, in zigzag order parts, were numbered from the last, so the
/// results are the same bits, and R-1-p stands for p in what a rank sends in
/// contiguous order, but for S_p.
///
/// A total is of one sequence: in zigzag order its dim 0 is half of the
/// inputs'. For it, the rank that has the last part sends m more (chain,
/// doubling, pipelined), or each rank S_p (transposed), or nothing
/// (gather).
cprt_op cprt_scan_state;
/// cprt_scan_state of summaries that combine in a way of their own: k tensors
/// of one type, whose first batch_dims sizes are the same and count the units.
/// Each unit combines alone.
/// ins k tensors; outs k tensors, and with total k more.
/// attrs algorithm, axes, batch_dims, order, reverse, total. Algorithms, orders
/// and what a rank sends are as above, where S = m are the bytes of all k
/// tensors and D = 0, and S_p those of whole units: n units in R parts in a
/// row, the first n mod R of them one longer. Counted as scan_state.
///
/// `combine` has the form of an operation without attributes, on buffers of the
/// k tensors' sizes with one count of units, any, in place of the batch_dims
/// sizes; strides are any, addresses aligned to elements only, and the stream
/// is null. Its inputs are the tensors of the summary of those tokens through
/// which the state runs first (with reverse the later ones), then those of the
/// other's, and its outputs those of both together; without inputs, the outputs
/// are those of no tokens at all. It must be associative, write all its
/// outputs, of which none overlaps an input, depend on nothing but its inputs,
/// and make no call of this context but cprt_context_fail. Each rank's thread
/// calls it, several times in a scan; small numbers are not flushed for it.
void cprt_scan_state_with(cprt_context *context, cprt_stream *stream,
                          const int64_t *desc, void *const *buffers,
                          cprt_op *combine);
/// cprt_attention with q, k and v all cut along the sequence over `axes`, each
/// by its entry in `orders`. Keys and values go round: in R - 1 steps each rank
/// takes from the previous position the block which that one has just worked
/// on, or is about to, before it works on its own. Each rank sends R - 1 times
/// the bytes of its k and v. Blocks are added in the order in which they come,
/// the own one first, in f32 for bf16, and rounded once. A rank that works on
/// one block for longer than the deadline is taken for stalled.
/// attrs axes, causal, orders (array), scale, window.
cprt_op cprt_ring_attention;
/// Changes the order in which `dim` is cut.  attrs axes, dim, from_order,
/// to_order.
cprt_op cprt_reorder;

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_H */
