//===- RuntimeType.h - Element types in the C interface ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_RUNTIMETYPE_H
#define CP_EXECUTION_RUNTIMETYPE_H

#include "cp/Files/DType.h"
#include "cp/Runtime/cprt.h"

#include <optional>
#include <utility>

namespace cp {

inline constexpr std::pair<DType, cprt_dtype> runtimeTypes[] = {
    {DType::F32, CPRT_F32},
    {DType::F64, CPRT_F64},
    {DType::BF16, CPRT_BF16},
    {DType::I32, CPRT_I32},
    {DType::I64, CPRT_I64}};

/// CPRT_ABSENT for a type that the runtime does not have.
inline cprt_dtype toRuntimeType(DType dtype) {
  for (auto [ours, theirs] : runtimeTypes)
    if (ours == dtype)
      return theirs;
  return CPRT_ABSENT;
}

/// Its inverse; nothing for CPRT_ABSENT.
inline std::optional<DType> fromRuntimeType(cprt_dtype dtype) {
  for (auto [ours, theirs] : runtimeTypes)
    if (theirs == dtype)
      return ours;
  return std::nullopt;
}

} // namespace cp

#endif // CP_EXECUTION_RUNTIMETYPE_H
