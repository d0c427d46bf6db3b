//===- Words.cu - What a call brings to the device ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "CeilDiv.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {
/// They travel with the launch: what they were read from may be written over,
/// and a launch that is captured into a graph has its own.
struct WriteWords {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  int64_t words[threads];
  int64_t *to;
  int count;

  CP_DEVICE void operator()() const {
    if (thread() < count)
      to[thread()] = words[thread()];
  }
};
} // namespace

int64_t *Workspace::upload(const int64_t *words, size_t count) {
  auto *block = static_cast<int64_t *>(allocate(count * sizeof(int64_t)));
  if (!block)
    return nullptr;
  WriteWords kernel;
  for (size_t begin = 0; begin < count; begin += WriteWords::threads) {
    kernel.count = int(std::min(count - begin, size_t(WriteWords::threads)));
    kernel.to = block + begin;
    std::copy_n(words + begin, kernel.count, kernel.words);
    if (launch("a table", kernel, {1}, stream))
      return nullptr;
  }
  return block;
}

} // namespace cp::kernels::cuda
