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
  void passBarrier() { ++blockEpoch; }
  void passWarpBarrier(int warp) { ++warpEpochs[size_t(warp)]; }
  /// "", or the race that it makes. `size` may be 0.
  std::string access(size_t at, size_t size, int thread, bool isWrite,
                     int line);

private:
  struct Access {
    int thread = -1, line = 0;
    uint32_t blockEpoch = 0, warpEpoch = 0;
  };
  struct Place {
    Access write, reads[2];
  };
  bool isUnordered(const Access &before, const Access &now) const {
    return before.thread >= 0 && before.thread != now.thread &&
           before.blockEpoch == now.blockEpoch &&
           (before.thread / 32 != now.thread / 32 ||
            before.warpEpoch == now.warpEpoch);
  }

  std::vector<Place> places;
  std::vector<uint32_t> warpEpochs;
  uint32_t blockEpoch = 0;
};

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_SHAREDSHADOW_H
