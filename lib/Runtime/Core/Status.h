//===- Status.h - What a call of the runtime returns ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_STATUS_H
#define CP_LIB_RUNTIME_STATUS_H

#include "cp/Runtime/cprt.h"

#include <optional>
#include <string>

namespace cp::runtime {

struct Failure {
  cprt_status status;
  std::string message;
};

/// What went wrong: as an llvm::Error, nothing (and false) on success.
using Error = std::optional<Failure>;

/// "[1, 2, 3]"
std::string listText(const int64_t *words, size_t count);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_STATUS_H
