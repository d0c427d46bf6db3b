//===- Processor.h - What code asks of a processor --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_PROCESSOR_H
#define CP_EXECUTION_PROCESSOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace cp {

/// LLVM's names of the features that it can find out about the processor of
/// this machine, whether it has them or not; ascending. Empty where it can
/// find out about none.
std::vector<std::string> knownFeatures();

/// Fails where the processor of this machine lacks one of `features`, names
/// with commas between, which code for the processor `cpu` uses: it would end
/// the process. Names that are not known here are passed over.
llvm::Error checkProcessor(llvm::StringRef cpu, llvm::StringRef features);

} // namespace cp

#endif // CP_EXECUTION_PROCESSOR_H
