//===- ResultNumbers.cpp - What results say in short ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultNumbers.h"

#include "Training.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace cp {

void ResultTally::add(const TensorSpec &spec, int64_t offset,
                      llvm::ArrayRef<uint8_t> bytes) {
  HostTensor piece = {spec.dtype,
                      {int64_t(bytes.size()) / dtypeBytes(spec.dtype)},
                      Bytes(bytes.begin(), bytes.end())};
  if (NotFinite found = findNotFinite(piece); found.count) {
    int64_t at = offset / dtypeBytes(spec.dtype) + found.first.front();
    first = wrong ? std::min(first, at) : at;
    wrong += found.count;
  }
  bool isLoss = spec.name == "loss" && spec.shape.empty();
  if (!isLoss && !isGradient(spec))
    return;
  std::vector<double> values = piece.asDoubles();
  if (isLoss && !values.empty())
    done.loss = values.front();
  else
    for (double value : values)
      squares += value * value;
}

void ResultTally::end(const TensorSpec &spec) {
  if (wrong && !spec.value)
    done.notFinite.push_back(
        {spec.name,
         *tensorBytes(spec.shape, spec.dtype) / dtypeBytes(spec.dtype),
         {wrong, unravel(first, spec.shape)}});
  if (isGradient(spec))
    sumOfSquares = sumOfSquares.value_or(0) + squares;
  wrong = 0;
  squares = 0;
}

ResultNumbers ResultTally::numbers() const {
  ResultNumbers numbers = done;
  if (sumOfSquares)
    numbers.gradNorm = std::sqrt(*sumOfSquares);
  return numbers;
}

ResultNumbers numbersOf(llvm::ArrayRef<TensorSpec> specs,
                        llvm::ArrayRef<HostTensor> results) {
  ResultTally tally;
  for (auto [spec, tensor] : llvm::zip_equal(specs, results)) {
    tally.add(spec, 0, tensor.bytes);
    tally.end(spec);
  }
  return tally.numbers();
}

void warnOf(llvm::ArrayRef<NotFiniteResult> results, llvm::StringRef tool,
            llvm::raw_ostream &os) {
  for (const NotFiniteResult &result : results)
    os << tool << ": warning: '" << result.name << "' has "
       << result.found.count << " of " << result.elements
       << (result.elements == 1 ? " element" : " elements")
       << " that are not finite, the first at " << shapeText(result.found.first)
       << "\n";
}

} // namespace cp
