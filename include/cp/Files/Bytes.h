//===- Bytes.h - Memory of tensors ------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_BYTES_H
#define CP_FILES_BYTES_H

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace cp {

/// Gives memory that begins with a line of the caches, as buffers of the
/// programs do: a vector register then never lies across two lines.
template <typename T> struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <typename U> LineAllocator(const LineAllocator<U> &) {}

  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, line); }

  friend bool operator==(LineAllocator, LineAllocator) { return true; }
  friend bool operator!=(LineAllocator, LineAllocator) { return false; }
};

/// The bytes of a tensor, from a multiple of 64 on.
using Bytes = std::vector<uint8_t, LineAllocator<uint8_t>>;

} // namespace cp

#endif // CP_FILES_BYTES_H
