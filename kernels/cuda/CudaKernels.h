//===- CudaKernels.h - The table of kernels for cards -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of kernels/cpu/Kernels.h on buffers in a card's memory. A
// kernel checks its call as those for processors do, but for what would have to
// be read from the device, and starts its work on a stream, in whose order it
// runs; it waits for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_CUDAKERNELS_H
#define CP_KERNELS_CUDA_CUDAKERNELS_H

#include "Kernels.h"

namespace cp::kernels::cuda {

/// `stream` is a cudaStream_t of the current device, null for its default one.
/// Returns null, or a message (storage of this thread, until its next call)
/// that says what does not fit or what the card refused.
using KernelFn = const char *(*)(const Call &call, void *stream);

struct KernelEntry {
  const char *op;
  DType dtype;
  KernelFn fn;
};

/// All; `count` receives their number. Static storage.
const KernelEntry *kernels(size_t &count);
/// The one for `op` on `dtype`; null when there is none.
KernelFn findKernel(const char *op, DType dtype);

template <typename T> const char *ssd(const Call &call, void *stream);
template <typename T> const char *ssdStates(const Call &call, void *stream);
template <typename T> const char *ssdScan(const Call &call, void *stream);
template <typename T> const char *conv1d(const Call &call, void *stream);
template <typename T> const char *rmsNorm(const Call &call, void *stream);
template <typename T> const char *rotary(const Call &call, void *stream);
/// Heads of at most 256 channels. Places are not checked.
template <typename T> const char *attention(const Call &call, void *stream);
template <typename Acc>
const char *attentionMerge(const Call &call, void *stream);
// Of the data of the following nothing is checked that lies on the device.
template <typename T> const char *embeddingGrad(const Call &call, void *stream);
template <typename T> const char *conv1dGrad(const Call &call, void *stream);
template <typename T> const char *rmsNormGrad(const Call &call, void *stream);
template <typename T> const char *ssdGrad(const Call &call, void *stream);
template <typename T> const char *ssdGradStates(const Call &call, void *stream);
template <typename T> const char *attentionGrad(const Call &call, void *stream);
template <typename T>
const char *attentionGradBlock(const Call &call, void *stream);
template <typename T>
const char *linearCrossEntropy(const Call &call, void *stream);
template <typename T>
const char *linearCrossEntropyGrad(const Call &call, void *stream);
template <typename T> const char *squaredNorm(const Call &call, void *stream);
template <typename T> const char *sgd(const Call &call, void *stream);
template <typename T> const char *adamw(const Call &call, void *stream);
template <typename T> const char *accumulate(const Call &call, void *stream);
const char *documentPlaces(const Call &call, void *stream);
const char *sum(const Call &call, void *stream);
template <typename T> const char *sumRows(const Call &call, void *stream);
/// For float and double.
template <typename T> const char *joinStates(const Call &call, void *stream);
template <typename T> const char *joinDecays(const Call &call, void *stream);
/// These serve any type.
const char *copy(const Call &call, void *stream);
const char *repeat(const Call &call, void *stream);
const char *embedding(const Call &call, void *stream);

/// Who multiplies matrices for kernels that this thread starts from now on, in
/// the order of their stream: `op` is matmul or contract_rows, on buffers of
/// the device, and the result null or a message. linear_cross_entropy and its
/// adjoint need one.
using MultiplyFn = const char *(*)(void *state, const char *op, DType dtype,
                                   const Call &call);
void multiplyWith(MultiplyFn multiply, void *state);
/// Whether a kernel of the operation asks for products.
bool multiplies(const char *op);

/// Whose memory kernels that this thread starts from now on work with, on one
/// stream; null, as at first: of the device's own pool.
class ScratchStack;
void workIn(ScratchStack *stack);

/// How many blocks kernels that this thread starts from now on may make a
/// cluster of: the power of two that is next below, from 1, as on cards that
/// have none, to 8. At first what CP_CUDA_CLUSTERS in the environment says, or
/// 8. Where a scan is cut into as many segments, it has the same bits.
void limitClusters(int blocks);
int clusterLimit();

/// Whether kernels that this thread starts from now on multiply by warpgroups,
/// where there is such a form and the card is of sm_90a. At first they do where
/// CP_CUDA_WARPGROUPS is 1 in the environment: no card has run that form yet.
void multiplyByWarpgroups(bool doIt);
bool multipliesByWarpgroups();

/// How many kernels the thread has started in these forms: what was asked for
/// is not what a card may have.
struct StartedForms {
  int64_t clusters = 0, warpgroups = 0;
};
StartedForms &startedForms();

/// Where kernels that this thread starts from now on note what is wrong in
/// their data: the first to find something writes three words, in memory of the
/// device, all 0 before. Null: it is not noted.
void noteFaultsAt(int64_t *record);
/// What such words say, in this thread's storage, or null for nothing.
const char *faultText(const int64_t *record);
/// Whether they say that ranks have been given different data.
bool isOfOtherRanks(const int64_t *record);
constexpr int faultWords = 3;

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_CUDAKERNELS_H
