//===- Kept.h - What the last questions were about --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_KEPT_H
#define CP_BENCHMARKS_WORKER_KEPT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace cp::bench {

/// What was made for the last questions, so that a repeated question finds its
/// buffers made and its program compiled; few, since they may be large.
template <typename Made> class Kept {
public:
  /// What was made for `key`, or what `make` makes now: valid until the next
  /// call. Errors: those of `make`.
  llvm::Expected<const Made *>
  get(const std::string &key, llvm::function_ref<llvm::Expected<Made>()> make) {
    for (auto &[other, made] : kept)
      if (other == key)
        return &made;
    // First, so that there is memory for the new one.
    constexpr size_t most = 2;
    if (kept.size() == most)
      kept.erase(kept.begin());
    llvm::Expected<Made> made = make();
    if (!made)
      return made.takeError();
    kept.emplace_back(key, std::move(*made));
    return &kept.back().second;
  }

private:
  std::vector<std::pair<std::string, Made>> kept;
};

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_KEPT_H
