//===- Kernels.h - The table of CPU kernels ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel computes one operation on buffers of one rank. It knows neither
// ranks nor the runtime. What each operation means, its buffers and the order
// of its attribute words, stands in include/cp/Runtime/cprt.h; but
//
//   attention        as cprt_attention, with the attribute words causal, scale,
//                    window, q_runs, k_runs. The last two are arrays of three
//                    words a run, in the order of the tensor's rows: its first
//                    position, its number of rows, at least 1, and how far
//                    apart their positions are, at least 1. Beside bf16, o may
//                    be f32: a part that others are merged with.
//   attention_merge  ins o1[b,l,h,dv], lse1[b,h,l], o2, lse2; outs o, lse: what
//                    attention gives for the keys of both parts, which are
//                    disjoint. f32 or f64; o may be bf16 beside f32, which
//                    rounds it once. o and lse may be o1 and lse1. No attrs.
//   attention_grad_block
//                    as cprt_attention_grad, of some of the keys: behind its
//                    attribute words k_runs, as above. Behind its ins, each of
//                    which may be absent, what there is of dq, dk and dv, of
//                    the type that sums and zeros where absent; the outs are
//                    with these, and may be them. Beside bf16, dq may be f32.
//   sum_rows         ins x[r,n], r from 1 on; outs y[n]: the sum of the rows
//                    in their order; of bf16 summed in f32 and rounded once.
//                    y may be a row of x. No attrs.
//   document_places  ins documents i32[r,b,n], (rows i64[l]); outs places
//                    i64[b,l]: of a rank's rows, or the first l, within the
//                    documents as cprt_document_positions has them, which must
//                    be the same for all r ranks. attrs own, tokens: which of
//                    the r this is, and how many a row of the batch has.
//   join_states      ins left[n], right[n], decays[d]; outs y[n]: what tokens
//                    leave of the states before them and their own states, as
//                    cprt_scan_state combines them, decays[(first + i) / inner]
//                    * left[i] + right[i], each of the two rounded. y may be
//                    left or right. f32 or f64. Attribute words first, inner.
//   join_decays      ins left[n], right[n]; outs y[n]: the decays of tokens
//                    that follow each other, left[i] * right[i]. y may be
//                    either. f32 or f64. No attrs.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_KERNELS_H
#define CP_KERNELS_CPU_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace cp::kernels {

/// Element types, with the numbers of cprt_dtype.
enum class DType : int32_t {
  F32 = 0,
  F64 = 1,
  BF16 = 2,
  I32 = 3,
  I64 = 4,
  /// Of an input that a call leaves out.
  Absent = -1
};

/// A strided tensor. Owns nothing. Sizes and strides are in elements.
struct Buffer {
  void *data;
  DType dtype;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides;
};

/// One call, decoded from its descriptor.
struct Call {
  const Buffer *ins;
  size_t numIns;
  const Buffer *outs;
  size_t numOuts;
  const int64_t *attrs;
  size_t numAttrs;
  /// Whether the buffers are in a device's memory, which is not read to check
  /// the call; kernels for devices set it.
  bool isOnDevice = false;
};

/// Returns null, or a message (static storage) that says which argument does
/// not fit. A kernel checks ranks and sizes of its buffers before it reads
/// them.
using KernelFn = const char *(*)(const Call &call);

enum class KernelSet { Fast, Reference };

/// One kernel. `dtype` is the type of the call's first floating-point buffer.
struct KernelEntry {
  const char *op;
  DType dtype;
  KernelSet set;
  KernelFn fn;
};

/// All CPU kernels; `count` receives their number. Static storage.
const KernelEntry *cpuKernels(size_t &count);

/// The kernel for `op` on `dtype`: the one of `set`, or the reference when
/// there is no fast one; null when there is neither.
KernelFn findCpuKernel(const char *op, DType dtype, KernelSet set);

/// From now on findCpuKernel gives these in place of fast ones of the same
/// operation and type; static storage, and none to end it. For tests that run
/// programs on kernels of other devices. To be called while nobody else looks
/// for kernels; worlds keep those they have found.
void replaceFastKernels(const KernelEntry *entries, size_t count);

/// How many threads (1 to 1024, clamped) the fast kernels that the calling
/// thread runs may use, itself included; 1 until told. The others are made on
/// first use, belong to the calling thread and end with it. No result depends
/// on their number, but that of a scan with fewer heads in its batch than
/// threads, which is cut into segments and rounds as if they were ranks.
void setNumThreads(int64_t threads);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_KERNELS_H
