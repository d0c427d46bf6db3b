//===- World.cpp - A set of ranks -----------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "World.h"

extern "C" void cprt_world_destroy(cprt_world *world) { delete world; }

extern "C" int64_t cprt_world_size(const cprt_world *world) {
  return world ? int64_t(world->contexts.size()) : 0;
}

extern "C" cprt_context *cprt_world_context(cprt_world *world, int64_t rank) {
  if (!world || rank < 0 || rank >= int64_t(world->contexts.size()))
    return nullptr;
  return world->contexts[size_t(rank)].get();
}
