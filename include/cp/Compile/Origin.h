//===- Origin.h - What a program was made of --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_COMPILE_ORIGIN_H
#define CP_COMPILE_ORIGIN_H

#include "cp/Compile/Compile.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace cp {

/// What a program was made of and how it was cut, as reports and files say it:
/// `stage` (stageName), `strategy`, and where it was cut here `sharding`, the
/// options of cp-assign-layouts:
///   {"stage": "global", "strategy": "sequence",
///    "sharding": {"axis": "cp", "order": "zigzag", "scan": "chain", ...}}
/// and, where they are asked for, `loss`, `gradients`, `optimizer`,
/// `weight_decay` and `accumulate`.
llvm::json::Object originOf(Stage stage, const CompileOptions &options);

} // namespace cp

#endif // CP_COMPILE_ORIGIN_H
