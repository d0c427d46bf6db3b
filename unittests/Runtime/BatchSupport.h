//===- BatchSupport.h - Batches for tests -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_BATCHSUPPORT_H
#define CP_UNITTESTS_RUNTIME_BATCHSUPPORT_H

#include "cp/Runtime/cprt_batch.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace cp::test {

using Longs = std::vector<int64_t>;

struct BatchDeleter {
  void operator()(cprt_batch *batch) const { cprt_batch_destroy(batch); }
};

/// What a test makes a batch of, and asks it for.
class BatchOf {
public:
  cprt_batch_options options = {};
  BatchOf(int64_t ranks, cprt_batch_order order,
          cprt_batch_format format = CPRT_BATCH_BSHD);

  /// A tensor of i64.
  BatchOf &with(const std::string &name, const Longs &shape,
                const Longs &numbers, int dim = 1);
  BatchOf &withFloats(const std::string &name, const Longs &shape,
                      const std::vector<float> &numbers, int dim = 1);

  /// Makes it; the message, "" on success.
  std::string create();
  cprt_batch *get() const { return batch.get(); }
  cprt_batch_info info() const;

  /// A part of it, of i32 or i64; `shape` may be null.
  Longs take(const std::string &name, int64_t rank = CPRT_BATCH_WHOLE,
             Longs *shape = nullptr) const;
  std::vector<float> takeFloats(const std::string &name, int64_t rank,
                                Longs *shape = nullptr) const;
  /// Gathers the parts of `name` that all ranks are given.
  Longs gather(const std::string &name, bool keepPadding = false,
               Longs *shape = nullptr) const;

private:
  struct Owned {
    std::string name;
    Longs longs;
    std::vector<float> floats;
  };
  std::deque<Owned> owned;
  std::vector<cprt_batch_tensor> tensors;
  std::unique_ptr<cprt_batch, BatchDeleter> batch;

  BatchOf &add(const std::string &name, cprt_dtype dtype, const Longs &shape,
               int dim);
};

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_BATCHSUPPORT_H
