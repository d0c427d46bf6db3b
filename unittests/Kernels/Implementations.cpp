//===- Implementations.cpp - The kernels of processors --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedTable.h"
#include "Support.h"

namespace cp::kernels::test {

static std::vector<Implementation> listImplementations() {
  std::vector<Implementation> list = {
      plainImplementation(),
      {"portable", fast::portableTable(), fast::tableSize},
      {"paired", pairedTable(), fast::tableSize, true}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3"))
    list.push_back({"avx2", fast::avx2Table(), fast::tableSize});
  if (__builtin_cpu_supports("x86-64-v4"))
    list.push_back({"avx512", fast::avx512Table(), fast::tableSize});
  if (__builtin_cpu_supports("x86-64-v4") &&
      __builtin_cpu_supports("avx512bf16"))
    list.push_back(
        {"avx512bf16", fast::avx512Bf16Table(), fast::tableSize, true});
#endif
  return list;
}

const std::vector<Implementation> &implementations() {
  static const std::vector<Implementation> list = listImplementations();
  return list;
}

} // namespace cp::kernels::test
