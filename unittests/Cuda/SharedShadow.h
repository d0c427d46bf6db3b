//===- SharedShadow.h - Who touched shared memory ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_SHAREDSHADOW_H
#define CP_UNITTESTS_CUDA_SHAREDSHADOW_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cp::kernels::cuda::exec {

/// For each two bytes of a block's shared memory the last write, and the last
/// reads of two warps. Two accesses are ordered when a barrier of the block
/// lies between them, or one of their warp when it is the same.
class SharedShadow {
public:
  explicit SharedShadow(int threads) : warpEpochs(size_t(threads) / 32) {}

  void reset(size_t bytes);
  void passBarrier() { blockEpoch = next(blockEpoch); }
  void passWarpBarrier(int warp) {
    warpEpochs[size_t(warp)] = next(warpEpochs[size_t(warp)]);
  }
  /// "", or the race that it makes. `size` may be 0.
  std::string access(size_t at, size_t size, int thread, bool isWrite,
                     int line);
  /// In a cluster: of the access that was just told, by a thread that had come
  /// so often to the cluster's barrier.
  void date(size_t at, size_t size, uint32_t clusterArrivals);
  /// "", or that what is copied here, by a thread that has passed the cluster's
  /// barrier so often, is not ordered behind an access.
  std::string bring(size_t at, size_t size, uint32_t clusterPasses, int line);

private:
  /// In one word, since a kernel makes millions: the thread, from 1 on, in 12
  /// bits, the line in 12, and the epochs of block and warp in 20 each. 0 is
  /// none.
  using Access = uint64_t;
  struct Place {
    Access write = 0, reads[2] = {0, 0};
  };
  static constexpr int lineShift = 12, blockShift = 24, warpShift = 44;
  static constexpr uint32_t epochs = 1 << 20;

  static uint32_t next(uint32_t epoch) { return (epoch + 1) % epochs; }
  static int threadOf(Access access) { return int(access & 0xfff) - 1; }
  static int lineOf(Access access) { return int(access >> lineShift & 0xfff); }
  static bool isEarlier(Access a, Access b) {
    return (a >> blockShift & (epochs - 1)) < (b >> blockShift & (epochs - 1));
  }
  static bool isUnordered(Access before, Access now) {
    Access other = before ^ now;
    if (other >> blockShift & (epochs - 1))
      return false;
    return before && (other & 0xfff) &&
           (threadOf(before) / 32 != threadOf(now) / 32 ||
            !(other >> warpShift));
  }
  std::string race(size_t at, Access other, bool isOtherWrite, Access now,
                   bool isWrite) const;

  std::vector<Place> places;
  /// How many passes of the cluster's barrier are behind the last access.
  std::vector<uint32_t> passes;
  std::vector<uint32_t> warpEpochs;
  uint32_t blockEpoch = 0;
};

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_SHAREDSHADOW_H
