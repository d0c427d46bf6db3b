//===- SharedShadow.cpp - Who touched shared memory -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedShadow.h"

namespace cp::kernels::cuda::exec {

void SharedShadow::reset(size_t bytes) {
  // What an earlier block did is of an earlier epoch.
  places.resize((bytes + 1) / 2);
  ++blockEpoch;
}

static std::string told(int thread, bool isWrite, int line) {
  return "thread " + std::to_string(thread) +
         (isWrite ? " writes in line " : " reads in line ") +
         std::to_string(line);
}

std::string SharedShadow::access(size_t at, size_t size, int thread,
                                 bool isWrite, int line) {
  Access now = {thread, line, blockEpoch, warpEpochs[size_t(thread) / 32]};
  for (size_t i = at / 2; i < (at + size + 1) / 2; ++i) {
    Place &place = places[i];
    const Access *other = nullptr;
    if (isUnordered(place.write, now))
      other = &place.write;
    for (const Access &read : place.reads)
      if (isWrite && !other && isUnordered(read, now))
        other = &read;
    if (other)
      return "a race on byte " + std::to_string(2 * i) + ": " +
             told(other->thread, other == &place.write, other->line) + ", " +
             told(thread, isWrite, line) + ", and no barrier is between them";
    if (isWrite) {
      place.write = now;
      continue;
    }
    if (place.reads[0].thread / 32 != thread / 32)
      place.reads[1] = place.reads[0];
    place.reads[0] = now;
  }
  return "";
}

} // namespace cp::kernels::cuda::exec
