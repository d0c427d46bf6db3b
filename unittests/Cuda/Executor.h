//===- Executor.h - Blocks of a kernel without a card -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the blocks of a kernel one after another, or a cluster of them at once,
// each of their threads as a fiber, on the calling thread. What a kernel may do
// of which the result depends on other threads goes through here, and is
// checked:
//   - a block's shared memory starts as 0xff bytes, and addresses are within
//   - two accesses, one of them a write, by threads between which there is no
//     barrier (of the block, or for one warp of the warp) are a race
//   - what an asynchronous copy brings is 0xff bytes until it was waited for,
//     and registers of a product are no numbers until it was
//   - what is copied to a cluster is behind a barrier of the cluster that came
//     after the last access to the same bytes
//   - every lane of a warp takes part in what is the warp's, in the same line,
//     every thread in a barrier, and every warp in a product of its warpgroup.
// The first misfit ends the launch, which tells it with the lines. Threads run
// in an order that is drawn anew for each block.
//
// What it cannot see: time, banks, how many blocks fit, memory that is weakly
// ordered (so also fences), how the card rounds, races in global memory. And of
// what is asynchronous
//   - bytes that a product reads, or that a copy brings, written over before it
//     was waited for, where a barrier is between
//   - registers of a product that change before it was waited for, or that no
//     fence was told of
//   - who reads what was copied to a cluster where another thread has waited.
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_EXECUTOR_H
#define CP_UNITTESTS_CUDA_EXECUTOR_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>

namespace cp::kernels::cuda::exec {

constexpr int lanes = 32;
/// Of a block's shared memory.
constexpr size_t alignment = 1024;

/// Of the running thread.
int thread();
int block(int dimension);
/// 0 outside of a launch.
int rankInCluster();
void *shared();

void barrier(int line);
void warpBarrier(int line);
uint32_t vote(bool value, int line);

/// One lane's part in what all lanes of a warp do together, in one line.
struct Part {
  virtual ~Part() = default;
  /// Run once, by the lane that comes last.
  virtual void together(Part *const (&parts)[lanes]) = 0;
};
void collect(Part &mine, int line);

/// The value of the lane that `from` names for this one.
template <typename T, typename From> T exchange(T value, From from, int line) {
  struct Value : Part {
    T in, out;
    int source;
    void together(Part *const (&parts)[lanes]) override {
      for (Part *part : parts) {
        auto &to = static_cast<Value &>(*part);
        to.out = static_cast<Value &>(*parts[to.source & (lanes - 1)]).in;
      }
    }
  } mine;
  mine.in = value;
  mine.source = from(thread() % lanes);
  collect(mine, line);
  return mine.out;
}

/// An access of this thread to shared memory.
void note(const void *address, size_t bytes, bool isWrite, int line);

void copy(void *to, const void *from, size_t bytes, bool valid, int line);
void commitCopies();
void waitCopies(int groups);
void loadMatrices(uint32_t (&to)[4], const uint16_t *row, bool transposed,
                  int line);
void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
              int line);

/// A barrier of all threads of a cluster in two halves. It orders what is
/// copied to the cluster behind what was done before, and nothing else.
void arriveAtCluster(int line);
void waitForCluster(int line);
/// Of the bits of a bf16.
inline float widenedBits(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// What stands for an mbarrier of one arrival a phase, of eight bytes in shared
/// memory: how many bytes come in this phase, and that the phase with this
/// parity has ended.
void setArrivals(const void *arrivals, int line);
void announce(const void *arrivals, int64_t bytes, int line);
void waitForArrivals(const void *arrivals, bool parity, int line);
/// To the same place in the first blocks of the cluster, whose arrivals count
/// it.
void copyToCluster(void *to, const void *from, size_t bytes,
                   const void *arrivals, int blocks, int line);

/// The same of a box of the TensorBox at `map`.
void copyBoxToCluster(void *to, const void *map, const int (&first)[4],
                      const void *arrivals, int blocks, int line);

/// What a copy of boxes is told of a tensor of bf16: bytes between two of each
/// dimension, but of the first, in which numbers follow each other.
struct TensorBox {
  const void *data;
  int64_t sizes[4], strides[3];
  int32_t box[4];
};

/// One lane's part in a product of a warpgroup, of which each warp makes its
/// rows: 16 deep, of operands as descriptors say, with 128-byte patterns. d is
/// NaN until it was waited for. Rows of both operands are multiplied, or a's
/// fragment with columns of b.
void multiplyRows(float (&d)[8][4], uint64_t a, uint64_t b, bool adds,
                  int line);
void addProduct(float *d, int tiles, const uint32_t (&a)[4], uint64_t b,
                int line);
void beginProducts();
/// So many groups are on their way then.
void commitProducts(int groups, int line);
/// `sums` are what may be read then. All warps of a group wait in one place.
void waitProducts(int groups, std::initializer_list<float *> sums, int line);

constexpr int mostBlocksOfACluster = 8;

struct GridSize {
  int64_t x, y, z;
  /// So many blocks side by side along x are a cluster.
  int cluster = 1;
};
/// Runs `body` as every thread of a grid. Null, or what went wrong, in storage
/// that the calling thread's next launch overwrites.
const char *run(const char *op, GridSize grid, int threads, size_t sharedBytes,
                const std::function<void()> &body);

/// How many launches the calling thread has made.
int64_t launches();

/// That a kernel's thread repairs a result, and how often the calling thread's
/// launches did: right numbers that take long hide wrong ones.
void noteRepair();
int64_t repairs();

/// Who is told what blocks do with memory that is not their own.
struct Watcher {
  virtual ~Watcher() = default;
  /// A kernel has this much memory for the length of a call.
  virtual void allocated(const void *begin, size_t bytes) = 0;
  /// A thread of the running block reads. Told by asynchronous copies, and by
  /// sources whose compiler reports accesses (see Traffic.cpp).
  virtual void read(const void *from, size_t bytes) = 0;
  /// All blocks of a cluster.
  virtual void blocksEnd() = 0;
};
/// The calling thread's, or null; does not own it.
void watchBy(Watcher *watcher);
Watcher *watcher();

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_EXECUTOR_H
