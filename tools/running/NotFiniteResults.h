//===- NotFiniteResults.h - Infinities and NaNs in results ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_NOTFINITERESULTS_H
#define CP_TOOLS_RUNNING_NOTFINITERESULTS_H

#include "cp/Execution/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// A result of which some elements are infinite or NaN.
struct NotFiniteResult {
  std::string name;
  int64_t elements = 0;
  NotFinite found;
};

/// Those among a module's own results, in their order.
std::vector<NotFiniteResult>
notFiniteResults(llvm::ArrayRef<TensorSpec> specs,
                 llvm::ArrayRef<HostTensor> results);

/// One warning a result: how many elements, and where the first is.
void warnOf(llvm::ArrayRef<NotFiniteResult> results, llvm::StringRef tool,
            llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_RUNNING_NOTFINITERESULTS_H
