//===- SanitizerOptions.cpp - What a build with MLIR's libraries needs ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's libraries are not built with the sanitizers. Their allocators, inlined
// into our code, would poison what theirs then hand out; a vector that they
// grow looks overflown to ours; what they keep for the process looks lost.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "detect_leaks=0:allow_user_poisoning=0:detect_container_overflow=0";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
