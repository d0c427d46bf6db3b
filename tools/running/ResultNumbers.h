//===- ResultNumbers.h - What results say in short --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_RESULTNUMBERS_H
#define CP_TOOLS_RUNNING_RESULTNUMBERS_H

#include "cp/Execution/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace cp {

/// A result of which some elements are infinite or NaN.
struct NotFiniteResult {
  std::string name;
  int64_t elements = 0;
  NotFinite found;
};

/// What a report says of results.
struct ResultNumbers {
  /// Of a module's own results, in their order.
  std::vector<NotFiniteResult> notFinite;
  /// Where there is one: the loss, and the norm of all gradients together.
  std::optional<double> loss, gradNorm;
};

/// Adds results up as they come, whole or in pieces.
class ResultTally {
public:
  /// Elements of a result from the byte `offset` on, each of which comes once.
  void add(const TensorSpec &spec, int64_t offset,
           llvm::ArrayRef<uint8_t> bytes);
  /// No more comes of it.
  void end(const TensorSpec &spec);
  ResultNumbers numbers() const;

private:
  /// Of the result at hand.
  int64_t wrong = 0, first = 0;
  double squares = 0;
  std::optional<double> sumOfSquares;
  ResultNumbers done;
};

/// Of whole results.
ResultNumbers numbersOf(llvm::ArrayRef<TensorSpec> specs,
                        llvm::ArrayRef<HostTensor> results);

/// One warning a result: how many elements, and where the first is.
void warnOf(llvm::ArrayRef<NotFiniteResult> results, llvm::StringRef tool,
            llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_RUNNING_RESULTNUMBERS_H
