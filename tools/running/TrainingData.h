//===- TrainingData.h - What a run trains on --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TRAININGDATA_H
#define CP_TOOLS_RUNNING_TRAININGDATA_H

#include "cp/Execution/HostTensor.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Tokens `[batch, length]` of i32, and of each the one that comes next.
struct Batch {
  HostTensor ids, labels;
  /// `[batch, most + 1]` of i32, as cp.positions takes them; and no last token
  /// of a document has a label then. Without documents empty.
  HostTensor documents;
};

/// A short text that batches of other tokens, labels or documents have another
/// one of.
std::string digestOf(const Batch &batch);

/// What a model takes of its data.
struct DataShape {
  int64_t batch = 0, length = 0;
  /// 0: not known.
  int64_t vocabulary = 0;
  /// Documents that a row may have; 0: a row is one.
  int64_t documents = 0;
  /// Of the order of the data; without it is as in the file.
  std::optional<uint64_t> seed;
};

class TrainingData {
public:
  virtual ~TrainingData() = default;
  /// The batch of this number, from 0.
  virtual llvm::Expected<Batch> at(int64_t number) = 0;
  int64_t tokensOfBatch() const { return shape.batch * shape.length; }

protected:
  explicit TrainingData(DataShape shape) : shape(shape) {}
  DataShape shape;
};

/// The numbers below `count` again and again: ascending, or with a seed in an
/// order that is drawn for each pass.
class PassOrder {
public:
  PassOrder(int64_t count, std::optional<uint64_t> seed)
      : count(count), seed(seed) {}
  /// The number at a place that is counted through all passes.
  int64_t at(int64_t place);

private:
  int64_t count;
  std::optional<uint64_t> seed;
  std::vector<int64_t> order;
  int64_t shuffledPass = -1;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_TRAININGDATA_H
