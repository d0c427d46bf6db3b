//===- Frame.h - The buffers of a runtime call ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GATED_FRAME_H
#define GATED_FRAME_H

#include <cstdint>
#include <vector>

namespace gated {

/// One buffer of a call; see cprt_op in cprt.h.
struct View {
  double *data;
  const int64_t *sizes, *strides;

  template <typename... Indices> double &at(Indices... indices) const {
    const int64_t *stride = strides;
    int64_t offset = 0;
    ((offset += int64_t(indices) * *stride++), ...);
    return data[offset];
  }
};

/// The buffers, and the words of the attributes behind them.
struct Frame {
  std::vector<View> views;
  const int64_t *attributes;

  Frame(const int64_t *desc, void *const *buffers) : attributes(desc + 4) {
    for (int64_t i = 0; i < desc[0] + desc[1]; ++i) {
      const int64_t *word = attributes;
      int64_t rank = word[1];
      views.push_back(
          {static_cast<double *>(buffers[i]), word + 2, word + 2 + rank});
      attributes += 2 + 2 * rank;
    }
  }
};

} // namespace gated

#endif // GATED_FRAME_H
