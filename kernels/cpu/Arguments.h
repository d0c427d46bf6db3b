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

  /// To be called before any attribute is read, which are in a row.
  void expectAttributes(size_t count);
  /// The next attribute word as an integer of at least `least`.
  int64_t integer(const char *name, int64_t least);
  /// As a bool: 0 or 1.
  bool flag(const char *name);
  /// As the bits of a double; NaN is refused.
  double real(const char *name);

  /// To be called before any buffer is read. Of `ins` inputs the last ones may
  /// be left out, so that `leastIns` are there; of outputs likewise.
  void expectBuffers(size_t leastIns, size_t ins, size_t leastOuts,
                     size_t outs);
  /// Whether the next input is there; false after an error.
  bool hasNext() const;
  /// The next input or output, whose sizes must be `dims`.
  template <typename T, int Rank>
  View<const T, Rank> input(const char *name, Dim *const (&dims)[Rank]) {
    return view<const T, Rank>(bind(true, name, Element<T>::dtype, dims, Rank));
  }
  template <typename T, int Rank>
  View<T, Rank> output(const char *name, Dim *const (&dims)[Rank]) {
    return view<T, Rank>(bind(false, name, Element<T>::dtype, dims, Rank));
  }
  /// The next input, of a tensor that may lack dimension `lacking`, on which it
  /// then does not depend: the view has stride 0 there.
  template <typename T, int Rank>
  View<const T, Rank> input(const char *name, Dim *const (&dims)[Rank],
                            int lacking) {
    if (!hasNext() || call.ins[nextIn].rank != Rank - 1)
      return input<T>(name, dims);
    Dim *given[Rank - 1];
    for (int i = 0; i < Rank - 1; ++i)
      given[i] = dims[i + (i >= lacking)];
    return spread(input<T>(name, given), lacking);
  }
  /// The next input, or a view of nothing where the call leaves it out.
  template <typename T, int Rank, typename... Lacking>
  View<const T, Rank> optionalInput(const char *name, Dim *const (&dims)[Rank],
                                    Lacking... lacking) {
    if (hasNext())
      return input<T>(name, dims, lacking...);
    ++nextIn;
    return {};
  }
  /// The next input or output, which is one number.
  template <typename T> const T *scalarInput(const char *name) {
    return static_cast<const T *>(
        bind(true, name, Element<T>::dtype, nullptr, 0).data);
  }
  template <typename T> T *scalarOutput(const char *name) {
    return static_cast<T *>(
        bind(false, name, Element<T>::dtype, nullptr, 0).data);
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
  /// Checks that a size which another one goes by is large enough.
  void expectAtLeast(const Dim &size, int64_t least);
  /// Checks that `value`, an attribute, is a dimension of a tensor.
  void expectDimension(const char *name, int64_t value, int32_t rank);
  /// Checks that `size` splits into `parts` equal parts.
  void expectDivides(const Dim &size, const Dim &parts);

  /// Where its elements are. Of a buffer without any, which may have no
  /// address, one from which offsets make sense: nobody reads there.
  static void *dataOf(const Buffer &buffer);

  const char *operation() const { return op; }
  bool isOnDevice() const { return call.isOnDevice; }
  /// Null, or the first misfit.
  const char *error() const { return message; }

  /// The same view with one more dimension, in place `lacking`, on which
  /// nothing depends.
  template <typename T, int Rank>
  static View<T, Rank + 1> spread(const View<T, Rank> &shorter, int lacking) {
    View<T, Rank + 1> whole = {shorter.data, {}};
    for (int i = 0; i < Rank; ++i)
      whole.strides[i + (i >= lacking)] = shorter.strides[i];
    return whole;
  }

private:
  const Buffer &next(bool isInput, const char *name);
  const Buffer &bind(bool isInput, const char *name, DType dtype,
                     Dim *const *dims, int32_t rank);
  void expectRank(const Buffer &buffer, const char *name, int32_t low,
                  int32_t high);
  void expectData(const Buffer &buffer, const char *name);
  int64_t word();

  template <typename T, int Rank> View<T, Rank> view(const Buffer &buffer) {
    View<T, Rank> result;
    if (error())
      return result;
    result.data = static_cast<T *>(dataOf(buffer));
    for (int i = 0; i < Rank; ++i)
      result.strides[i] = buffer.strides[i];
    return result;
  }

  const Call &call;
  const char *op;
  const char *message = nullptr;
  size_t nextWord = 0;
  size_t nextIn = 0;
  size_t nextOut = 0;
};

/// The number of elements.
int64_t numElements(const Buffer &buffer);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ARGUMENTS_H
