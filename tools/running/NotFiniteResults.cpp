//===- NotFiniteResults.cpp - Infinities and NaNs in results --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NotFiniteResults.h"

#include "llvm/ADT/STLExtras.h"

namespace cp {

std::vector<NotFiniteResult>
notFiniteResults(llvm::ArrayRef<TensorSpec> specs,
                 llvm::ArrayRef<HostTensor> results) {
  std::vector<NotFiniteResult> all;
  for (auto [spec, tensor] : llvm::zip_equal(specs, results))
    if (NotFinite found = findNotFinite(tensor); found.count && !spec.value)
      all.push_back({spec.name, tensor.numElements(), found});
  return all;
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
