//===- FileSeal.cpp - What tells that a file is whole ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/FileSeal.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

namespace cp {

static constexpr llvm::StringLiteral mark = "cp-mlir program\n";
static_assert(mark.size() + sizeof(uint64_t) == sealBytes);

std::string sealOf(llvm::StringRef bytes) {
  std::string seal = mark.str();
  seal.resize(sealBytes);
  llvm::support::endian::write64le(
      seal.data() + mark.size(),
      llvm::xxh3_64bits(llvm::arrayRefFromStringRef(bytes)));
  return seal;
}

bool isSealed(llvm::StringRef file) {
  return file.size() > sealBytes &&
         file.take_back(sealBytes) == sealOf(file.drop_back(sealBytes));
}

} // namespace cp
