//===- Processor.cpp - What code asks of a processor ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace cp {

std::vector<std::string> knownFeatures() {
  std::vector<std::string> names;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    names.push_back(feature.first().str());
  llvm::sort(names);
  return names;
}

llvm::Error checkProcessor(llvm::StringRef cpu, llvm::StringRef features) {
  const auto own = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> missing;
  for (llvm::StringRef feature : llvm::split(features, ','))
    if (auto known = own.find(feature); known != own.end() && !known->second)
      missing.push_back(feature.str());
  if (missing.empty())
    return llvm::Error::success();
  constexpr size_t most = 5;
  std::string others;
  if (missing.size() > most) {
    others = " and " + std::to_string(missing.size() - most) + " more";
    missing.resize(most);
  }
  return llvm::createStringError(
      "is for a processor '" + cpu.str() + "', and this one (" +
      llvm::sys::getHostCPUName().str() + ") lacks its " +
      llvm::join(missing, ", ") + others +
      "; compile it with --target-cpu=x86-64-v3, or for the least processor of "
      "the job");
}

} // namespace cp
