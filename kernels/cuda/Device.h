//===- Device.h - What a kernel's thread may do -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a structure that is copied to the device, with its block's
// `threads`, the blocks that should fit a multiprocessor, the structure that
// its block keeps in shared memory, and a call operator that every thread runs.
// It is one source for two compilers: nvcc, and any C++ compiler, for which an
// executor of blocks stands in for the card; see "Testing without a card" in
// docs/GPU.md. So it says thread() and barrier(), not threadIdx and
// __syncthreads.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_DEVICE_H
#define CP_KERNELS_CUDA_DEVICE_H

#include "Elements.h"

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define CP_DEVICE __device__ __forceinline__
#define CP_OUTLINED __device__ __noinline__
#define CP_UNROLL _Pragma("unroll")
#define CP_UNROLL_TWICE _Pragma("unroll 2")
// Of loops whose number of turns is not known: so many loads are on their way.
#define CP_UNROLL_FOUR _Pragma("unroll 4")
#define CP_NO_UNROLL _Pragma("unroll 1")
#else
#include "Executor.h"
#define CP_DEVICE inline
#define CP_OUTLINED inline
#define CP_UNROLL
#define CP_UNROLL_TWICE
#define CP_UNROLL_FOUR
#define CP_NO_UNROLL
#endif

namespace cp::kernels::cuda {

constexpr int warpSize = 32;

/// What a block may have of shared memory on every card from sm_80 on: as much
/// as sm_86 and sm_89 allow.
constexpr unsigned leastSharedMemory = 99 << 10;

constexpr float infinity = __builtin_inff();
constexpr double log2e = 1.4426950408889634;

#ifdef __CUDACC__
CP_DEVICE int thread() { return int(threadIdx.x); }
CP_DEVICE int blockX() { return int(blockIdx.x); }
CP_DEVICE int blockY() { return int(blockIdx.y); }
CP_DEVICE int blockZ() { return int(blockIdx.z); }
CP_DEVICE void barrier() { __syncthreads(); }
CP_DEVICE void warpBarrier() { __syncwarp(); }
/// The value of the lane that many below, or of this one where there is none.
template <typename T> CP_DEVICE T shuffleUp(T value, int lanes) {
  return __shfl_up_sync(0xffffffffu, value, unsigned(lanes));
}
template <typename T> CP_DEVICE T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <typename T> CP_DEVICE T shuffle(T value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
/// The bit of each lane says whether it is so there.
CP_DEVICE uint32_t vote(bool value) {
  return __ballot_sync(0xffffffffu, value);
}
/// The block's shared memory.
template <typename S> CP_DEVICE S &shared() {
  static_assert(alignof(S) <= 1024, "aligned no further");
  extern __shared__ __align__(1024) unsigned char sharedMemory[];
  return *reinterpret_cast<S *>(sharedMemory);
}
/// Accesses to shared memory.
template <typename T> CP_DEVICE T sharedLoad(const T *from) { return *from; }
template <typename T> CP_DEVICE void sharedStore(T *to, T value) {
  *to = value;
}
/// 2^x, with an error of two units in the last place; subnormals are 0.
CP_DEVICE float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// 1 / x, with an error of one unit in the last place.
CP_DEVICE float reciprocalFast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
CP_DEVICE uint32_t bitsOf(float x) { return __float_as_uint(x); }
CP_DEVICE float floatOf(uint32_t bits) { return __uint_as_float(bits); }
/// Both rounded to bf16, `low` in the lower half.
CP_DEVICE uint32_t packed(float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
/// The first bit that is set, from the lowest; 32 where none is.
CP_DEVICE int firstBit(uint32_t bits) {
  return bits ? __ffs(int(bits)) - 1 : 32;
}
/// The last bit that is set; -1 where none is.
CP_DEVICE int lastBit(uint32_t bits) { return 31 - __clz(int(bits)); }
/// A thread makes again what came out not finite: tests count it.
CP_DEVICE void noteRepair() {}
/// Ends the kernel with an error.
CP_DEVICE void giveUp() { __trap(); }
/// In memory of the card, where blocks in any order leave the same.
CP_DEVICE void atomicLeast(int *to, int value) { atomicMin(to, value); }
CP_DEVICE void atomicCount(int *to) { atomicAdd(to, 1); }
/// 16 bytes that nobody reads a second time.
CP_DEVICE uint4 loadOnce(const uint4 *from) { return __ldcs(from); }
CP_DEVICE void storeOnce(uint4 *to, uint4 value) { __stcs(to, value); }
#else
inline int thread() { return exec::thread(); }
inline int blockX() { return exec::block(0); }
inline int blockY() { return exec::block(1); }
inline int blockZ() { return exec::block(2); }
inline void barrier(int line = __builtin_LINE()) { exec::barrier(line); }
inline void warpBarrier(int line = __builtin_LINE()) {
  exec::warpBarrier(line);
}
template <typename T>
T shuffleUp(T value, int lanes, int line = __builtin_LINE()) {
  return exec::exchange(
      value, [=](int lane) { return lane >= lanes ? lane - lanes : lane; },
      line);
}
template <typename T>
T shuffleXor(T value, int mask, int line = __builtin_LINE()) {
  return exec::exchange(value, [=](int lane) { return lane ^ mask; }, line);
}
template <typename T>
T shuffle(T value, int from, int line = __builtin_LINE()) {
  return exec::exchange(value, [=](int) { return from; }, line);
}
inline uint32_t vote(bool value, int line = __builtin_LINE()) {
  return exec::vote(value, line);
}
template <typename S> S &shared() {
  static_assert(alignof(S) <= exec::alignment);
  return *static_cast<S *>(exec::shared());
}
template <typename T> T sharedLoad(const T *from, int line = __builtin_LINE()) {
  exec::note(from, sizeof(T), false, line);
  return *from;
}
template <typename T>
void sharedStore(T *to, T value, int line = __builtin_LINE()) {
  exec::note(to, sizeof(T), true, line);
  *to = value;
}
inline float exp2Fast(float x) { return std::exp2(x); }
inline float reciprocalFast(float x) { return 1 / x; }
inline uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline uint32_t packed(float low, float high) {
  return BFloat16(low).bits | uint32_t(BFloat16(high).bits) << 16;
}
inline void noteRepair() { exec::noteRepair(); }
inline void giveUp() { __builtin_trap(); }
inline void atomicLeast(int *to, int value) { *to = value < *to ? value : *to; }
inline void atomicCount(int *to) { ++*to; }
inline int firstBit(uint32_t bits) { return bits ? __builtin_ctz(bits) : 32; }
inline int lastBit(uint32_t bits) {
  return bits ? 31 - __builtin_clz(bits) : -1;
}
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
inline uint4 loadOnce(const uint4 *from) { return *from; }
inline void storeOnce(uint4 *to, uint4 value) { *to = value; }
#endif

/// Makes what stands behind it in a branch be jumped over, not selected.
CP_DEVICE void keepBranch() { asm volatile(""); }

/// The same value, which the compiler does not know to be the same: so it makes
/// what is made of it each time, and keeps nothing of that in registers.
CP_DEVICE int again(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
CP_DEVICE uint4 again(uint4 value) {
  asm volatile("" : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w));
  return value;
}

CP_DEVICE int lane() { return thread() % warpSize; }
CP_DEVICE int warp() { return thread() / warpSize; }

/// Of a pair of bf16.
CP_DEVICE float lowOf(uint32_t pair) { return floatOf(pair << 16); }
CP_DEVICE float highOf(uint32_t pair) { return floatOf(pair & 0xffff0000u); }

/// A stored number as what it is computed with.
CP_DEVICE float widened(BFloat16 value) {
  return floatOf(uint32_t(value.bits) << 16);
}
CP_DEVICE float widened(float value) { return value; }
CP_DEVICE double widened(double value) { return value; }
/// The number nearest to `value` that can be stored as T.
template <typename T> CP_DEVICE T narrowed(AccumulatorOf<T> value) {
  if constexpr (sizeof(T) == 2) {
    BFloat16 rounded;
    rounded.bits = uint16_t(packed(value, 0));
    return rounded;
  } else {
    return value;
  }
}

CP_DEVICE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// An element of a view, which the host's own accessor is not for.
template <typename T, int Rank, typename... Index>
CP_DEVICE T *at(const View<T, Rank> &view, Index... index) {
  static_assert(sizeof...(Index) <= Rank);
  const int64_t indices[] = {int64_t(index)...};
  int64_t offset = 0;
  CP_UNROLL
  for (int i = 0; i < int(sizeof...(Index)); ++i)
    offset += indices[i] * view.strides[i];
  return view.data + offset;
}

CP_DEVICE float exponential(float x) { return expf(x); }
CP_DEVICE double exponential(double x) { return exp(x); }
CP_DEVICE float logarithm(float x) { return logf(x); }
CP_DEVICE double logarithm(double x) { return log(x); }
CP_DEVICE float logOfOneMore(float x) { return log1pf(x); }
CP_DEVICE double logOfOneMore(double x) { return log1p(x); }
CP_DEVICE float rootOf(float x) { return sqrtf(x); }
CP_DEVICE double rootOf(double x) { return sqrt(x); }

/// The sum over a warp, in every lane; in one order, so always the same.
template <typename T> CP_DEVICE T warpSum(T value) {
  CP_UNROLL
  for (int mask = warpSize / 2; mask; mask /= 2)
    value += shuffleXor(value, mask);
  return value;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_DEVICE_H
