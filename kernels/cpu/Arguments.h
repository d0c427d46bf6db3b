//===- Arguments.h - Checked reading of a call's arguments ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_ARGUMENTS_H
#define CP_KERNELS_CPU_ARGUMENTS_H

#include "Elements.h"

namespace cp::kernels {

/// The largest rank any kernel accepts.
constexpr int32_t maxRank = 8;

/// Formats as printf does and returns the text, which this thread's next call
/// of fail() overwrites.
const char *fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The message of an operation that found no memory for its scratch.
const char *outOfMemory(const char *op);

/// A named size that several buffers share. The first buffer that has it sets
/// it, the others must agree.
struct Dim {
  const char *name;
  int64_t size = -1;
  const char *setBy = nullptr;
};

/// Reads the arguments of one call in order. The first misfit is kept, and
/// every later request is answered with something empty.
class Arguments {
public:
  Arguments(const Call &call, const char *op) : call(call), op(op) {}

  /// To be called before any attribute is read.
  void expectAttributes(size_t count);
  /// Attribute word `index` as an integer of at least 1.
  int64_t positive(size_t index, const char *name);
  /// As a dimension of a tensor of `rank` dimensions.
  int64_t dimension(size_t index, const char *name, int32_t rank);
  /// As a bool: 0 or 1.
  bool flag(size_t index, const char *name);
  /// As the bits of a double; NaN is refused.
  double real(size_t index, const char *name);

  /// To be called before any buffer is read.
  void expectBuffers(size_t ins, size_t outs);
  /// The rank of the next input; 0 after an error.
  int32_t nextRank() const;
  /// The next input or output, whose sizes must be `dims`.
  template <typename T, int Rank>
  View<const T, Rank> input(const char *name, Dim *const (&dims)[Rank]) {
    return view<const T, Rank>(bind(true, name, Element<T>::dtype, dims, Rank));
  }
  template <typename T, int Rank>
  View<T, Rank> output(const char *name, Dim *const (&dims)[Rank]) {
    return view<T, Rank>(bind(false, name, Element<T>::dtype, dims, Rank));
  }
  /// The next input or output of any type and of rank `minRank` to maxRank.
  const Buffer &anyInput(const char *name, int32_t minRank);
  const Buffer &anyOutput(const char *name, int32_t minRank);
  /// Checks the type of a buffer that anyInput or anyOutput gave.
  void expectType(const Buffer &buffer, const char *name, DType dtype);
  /// Checks that dimension `dim` of the buffer has size `expected.size`.
  void expectSize(const Buffer &buffer, const char *name, int32_t dim,
                  Dim &expected);
  /// Checks that two buffers agree in their first `count` dimensions.
  void expectSameSizes(const Buffer &buffer, const char *name,
                       const Buffer &other, const char *otherName,
                       int32_t count);
  /// Checks that `size` splits into `parts` equal parts.
  void expectDivides(const Dim &size, const Dim &parts);

  const char *operation() const { return op; }
  /// Null, or the first misfit.
  const char *error() const { return message; }

private:
  const Buffer &next(bool isInput, const char *name);
  const Buffer &bind(bool isInput, const char *name, DType dtype,
                     Dim *const *dims, int32_t rank);
  void expectRank(const Buffer &buffer, const char *name, int32_t low,
                  int32_t high);
  void expectData(const Buffer &buffer, const char *name);
  int64_t word(size_t index) const;

  template <typename T, int Rank> View<T, Rank> view(const Buffer &buffer) {
    View<T, Rank> result;
    if (error())
      return result;
    result.data = static_cast<T *>(buffer.data);
    for (int i = 0; i < Rank; ++i)
      result.strides[i] = buffer.strides[i];
    return result;
  }

  const Call &call;
  const char *op;
  const char *message = nullptr;
  size_t nextIn = 0;
  size_t nextOut = 0;
};

/// The number of elements.
int64_t numElements(const Buffer &buffer);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ARGUMENTS_H
