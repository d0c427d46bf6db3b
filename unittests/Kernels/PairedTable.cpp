//===- PairedTable.cpp - Products of bf16 on any processor ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedTable.h"

#include "fast/PairedEntries.h"

using namespace cp::kernels;

namespace {

/// What AVX512-BF16 does, on four lanes and without its instructions.
struct Emulated {
  static constexpr int bytes = 16;
  static constexpr int rows = 4;
  static constexpr bool streams = false;
  static constexpr bool fuses = false;

  using V = fast::Vec<Emulated, float>;
  using Type = V::Type;

  static Type dot(Type sum, const Pair &a, Type b) {
    sum += float(a.even) * V::even(b);
    return sum + float(a.odd) * V::odd(b);
  }
  static Type pair(Type even, Type odd) {
    V::Words low = __builtin_convertvector(V::narrow(even), V::Words);
    V::Words high = __builtin_convertvector(V::narrow(odd), V::Words);
    return reinterpret_cast<Type>(low | high << 16);
  }

  typedef uint16_t Halves __attribute__((vector_size(16)));
  static Halves narrow(Type first, Type second) {
    Halves both;
    V::Halves parts[] = {V::narrow(first), V::narrow(second)};
    __builtin_memcpy(&both, parts, sizeof both);
    return both;
  }
  template <typename Vector> static void stream(void *to, Vector value) {
    __builtin_memcpy(to, &value, sizeof value);
  }
};

} // namespace

const fast::Table &test::pairedTable() {
  static const fast::PairedEntries<Emulated> entries(fast::portableTable());
  return entries.table;
}
