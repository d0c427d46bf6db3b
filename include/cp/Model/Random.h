//===- Random.h - Numbers that depend on their place only -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_RANDOM_H
#define CP_MODEL_RANDOM_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace cp {

/// The FNV-1a hash of 64 bits (Fowler, Noll, Vo).
uint64_t fnv1a64(llvm::StringRef text);

/// Output number `index`, from 0, of SplitMix64 (Steele, Lea, Flood 2014)
/// seeded with `key`, computed without the ones before it.
uint64_t splitMix64(uint64_t key, uint64_t index);

/// Uniform over [0, 1), from the high 53 bits of that output.
double uniform01(uint64_t key, uint64_t index);

} // namespace cp

#endif // CP_MODEL_RANDOM_H
