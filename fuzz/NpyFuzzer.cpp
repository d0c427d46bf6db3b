//===- NpyFuzzer.cpp - Any bytes as a .npy file ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cp/Files/Npy.h"

using namespace cp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef file(reinterpret_cast<const char *>(data), size);
  llvm::Expected<NpyArray> array = parseNpy(file, "fuzz.npy");
  if (!fuzz::accepted(array))
    return 0;
  std::optional<int64_t> bytes = tensorBytes(array->shape, array->dtype);
  fuzz::require(bytes && uint64_t(*bytes) == array->bytes.size(),
                "an array's bytes are not those of its shape");
  fuzz::require(array->bytes.size() < size,
                "an array has more bytes than its file");
  return 0;
}
