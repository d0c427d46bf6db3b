//===- Elements.h - Element types and strided views -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_ELEMENTS_H
#define CP_KERNELS_CPU_ELEMENTS_H

#include "BFloat16.h"
#include "Kernels.h"

namespace cp::kernels {

/// What a kernel must know of a storage type: its number in descriptors, and
/// the type that sums and states are kept in.
template <typename T> struct Element;
template <> struct Element<float> {
  static constexpr DType dtype = DType::F32;
  using Accumulator = float;
};
template <> struct Element<double> {
  static constexpr DType dtype = DType::F64;
  using Accumulator = double;
};
template <> struct Element<int32_t> {
  static constexpr DType dtype = DType::I32;
  using Accumulator = int32_t;
};
template <> struct Element<int64_t> {
  static constexpr DType dtype = DType::I64;
  using Accumulator = int64_t;
};
template <> struct Element<BFloat16> {
  static constexpr DType dtype = DType::BF16;
  using Accumulator = float;
};
template <typename T> using AccumulatorOf = typename Element<T>::Accumulator;

/// Bytes of one element; 0 for a value outside the enum.
size_t elementBytes(DType dtype);
/// "f32", "i64", ...; never null.
const char *dtypeName(DType dtype);

/// Typed elements with one stride (in elements) per dimension. `data` is null
/// for an optional argument that is absent.
///
/// The accessor is always inlined: files compiled for different instruction
/// sets share it, and the linker must not pick one of them for all.
template <typename T, int Rank> struct View {
  T *data = nullptr;
  int64_t strides[Rank] = {};

  template <typename... Index>
  [[gnu::always_inline]] T *at(Index... index) const {
    static_assert(sizeof...(Index) <= Rank);
    const int64_t indices[] = {static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (size_t i = 0; i < sizeof...(Index); ++i)
      offset += indices[i] * strides[i];
    return data + offset;
  }
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ELEMENTS_H
