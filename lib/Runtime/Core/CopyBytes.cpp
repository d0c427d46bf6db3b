//===- CopyBytes.cpp - Bytes between processors' caches -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyBytes.h"

#include <cstring>

// Sanitizers do not see what assembly reads and writes.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) &&                    \
    !defined(__SANITIZE_ADDRESS__)
#define CP_HAS_STRING_COPY 1
#include <cpuid.h>
#else
#define CP_HAS_STRING_COPY 0
#endif

#if CP_HAS_STRING_COPY
/// Whether the processor's own loop is fast wherever buffers lie. On AMD's
/// before family 1Ah it is slow, though they say otherwise, where source and
/// target have the same place in their pages.
static bool hasFastStringCopy() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned fastShortCopy = 1u << 4;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) ||
      !(edx & fastShortCopy) || !__get_cpuid(0, &eax, &ebx, &ecx, &edx))
    return false;
  bool isAMD = ebx == signature_AMD_ebx, isIntel = ebx == signature_INTEL_ebx;
  if (!isAMD || !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return isIntel;
  unsigned family = ((eax >> 8) & 0xf) + ((eax >> 20) & 0xff);
  return family >= 0x1a;
}
#endif

/// The library takes a slower loop where a block is as large as the second
/// cache. Much larger ones it stores past the caches, which is as fast as this.
void cp::runtime::copyBytes(char *dst, const char *src, size_t bytes) {
#if CP_HAS_STRING_COPY
  constexpr size_t least = size_t(1) << 18, most = size_t(1) << 23;
  static const bool isFast = hasFastStringCopy();
  if (bytes >= least && bytes <= most && isFast) {
    asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
    return;
  }
#endif
  std::memcpy(dst, src, bytes);
}
