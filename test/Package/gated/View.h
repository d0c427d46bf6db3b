//===- View.h - A tensor of a runtime call ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GATED_VIEW_H
#define GATED_VIEW_H

#include "cp/Runtime/cprt.h"

#include <cstdlib>

namespace gated {

/// One tensor of a call, of doubles.
struct View {
  double *data;
  const int64_t *sizes, *strides;

  View(const cprt_buffer &buffer)
      : data(static_cast<double *>(buffer.data)), sizes(buffer.sizes),
        strides(buffer.strides), isThere(buffer.dtype != CPRT_ABSENT) {
    // The dialect's ops are of f64 alone.
    if (isThere && buffer.dtype != CPRT_F64)
      std::abort();
  }

  /// Whether the call has it.
  explicit operator bool() const { return isThere; }

  template <typename... Indices> double &at(Indices... indices) const {
    const int64_t *stride = strides;
    int64_t offset = 0;
    ((offset += int64_t(indices) * *stride++), ...);
    return data[offset];
  }

private:
  bool isThere;
};

} // namespace gated

#endif // GATED_VIEW_H
