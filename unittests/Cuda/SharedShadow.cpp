//===- SharedShadow.cpp - Who touched shared memory -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedShadow.h"

#include <algorithm>

namespace cp::kernels::cuda::exec {

void SharedShadow::reset(size_t bytes) {
  // What an earlier block did is of an earlier epoch, until these begin anew.
  if (blockEpoch > epochs / 2) {
    places.clear();
    blockEpoch = 0;
  }
  places.resize((bytes + 1) / 2);
  passes.clear();
  passBarrier();
}

static std::string told(int thread, bool isWrite, int line) {
  return "thread " + std::to_string(thread) +
         (isWrite ? " writes in line " : " reads in line ") +
         std::to_string(line);
}

std::string SharedShadow::race(size_t at, Access other, bool isOtherWrite,
                               Access now, bool isWrite) const {
  return "a race on byte " + std::to_string(at) + ": " +
         told(threadOf(other), isOtherWrite, lineOf(other)) + ", " +
         told(threadOf(now), isWrite, lineOf(now)) +
         ", and no barrier is between them";
}

std::string SharedShadow::access(size_t at, size_t size, int thread,
                                 bool isWrite, int line) {
  Access now = Access(thread + 1) | Access(line & 0xfff) << lineShift |
               Access(blockEpoch) << blockShift |
               Access(warpEpochs[size_t(thread) / 32]) << warpShift;
  for (size_t i = at / 2; i < (at + size + 1) / 2; ++i) {
    Place &place = places[i];
    if (isUnordered(place.write, now))
      return race(2 * i, place.write, true, now, isWrite);
    if (!isWrite) {
      if (threadOf(place.reads[0]) / 32 != thread / 32)
        place.reads[1] = place.reads[0];
      place.reads[0] = now;
      continue;
    }
    for (Access read : place.reads)
      if (isUnordered(read, now))
        return race(2 * i, read, false, now, isWrite);
    place.write = now;
  }
  return "";
}

void SharedShadow::date(size_t at, size_t size, uint32_t clusterArrivals) {
  passes.resize(places.size());
  for (size_t i = at / 2; i < (at + size + 1) / 2; ++i)
    passes[i] = std::max(passes[i], clusterArrivals + 1);
}

std::string SharedShadow::bring(size_t at, size_t size, uint32_t clusterPasses,
                                int line) {
  passes.resize(places.size());
  for (size_t i = at / 2; i < (at + size + 1) / 2; ++i) {
    if (passes[i] <= clusterPasses)
      continue;
    // That of a read, where there was one since.
    const Place &place = places[i];
    bool isRead = place.reads[0] && !isEarlier(place.reads[0], place.write);
    return "a race on byte " + std::to_string(2 * i) + ": a block of the " +
           "cluster copies to it in line " + std::to_string(line) + ", " +
           told(threadOf(isRead ? place.reads[0] : place.write), !isRead,
                lineOf(isRead ? place.reads[0] : place.write)) +
           ", and no barrier of the cluster is between them";
  }
  return "";
}

} // namespace cp::kernels::cuda::exec
