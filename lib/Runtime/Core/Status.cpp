//===- Status.cpp - Names of statuses and types ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

std::string cp::runtime::listText(const int64_t *words, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string(words[i]);
  return text + "]";
}

extern "C" uint32_t cprt_api_version(void) {
  return uint32_t(CPRT_VERSION_MAJOR) << 16 | uint32_t(CPRT_VERSION_MINOR);
}

extern "C" const char *cprt_status_name(cprt_status status) {
  switch (status) {
  case CPRT_OK:
    return "CPRT_OK";
  case CPRT_INVALID_ARGUMENT:
    return "CPRT_INVALID_ARGUMENT";
  case CPRT_OUT_OF_MEMORY:
    return "CPRT_OUT_OF_MEMORY";
  case CPRT_TIMEOUT:
    return "CPRT_TIMEOUT";
  case CPRT_PEER_FAILED:
    return "CPRT_PEER_FAILED";
  case CPRT_MISMATCH:
    return "CPRT_MISMATCH";
  case CPRT_UNSUPPORTED:
    return "CPRT_UNSUPPORTED";
  case CPRT_DEVICE_FAILED:
    return "CPRT_DEVICE_FAILED";
  }
  return "(not a cprt_status)";
}

extern "C" size_t cprt_dtype_size(cprt_dtype dtype) {
  switch (dtype) {
  case CPRT_BF16:
    return 2;
  case CPRT_F32:
  case CPRT_I32:
    return 4;
  case CPRT_F64:
  case CPRT_I64:
    return 8;
  case CPRT_ABSENT:
    break;
  }
  return 0;
}
