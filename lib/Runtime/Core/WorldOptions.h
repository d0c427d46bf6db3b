//===- WorldOptions.h - What all worlds are made with -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_WORLDOPTIONS_H
#define CP_LIB_RUNTIME_WORLDOPTIONS_H

#include "World.h"

namespace cp::runtime {

/// Copies and checks a caller's options: CPRT_INVALID_ARGUMENT otherwise.
Error readOptions(const cprt_options *options, cprt_options &read);

/// Gives a world its mesh, of at most `maxRanks` ranks, which are called
/// `what`, and its kernels.
Error applyOptions(const cprt_options &read, int64_t maxRanks, const char *what,
                   cprt_world &world);

/// Sets the threads of each rank's kernels, of `ranks` that share this process.
/// Whether they are more than the processors for them.
bool shareProcess(const cprt_options &read, int64_t ranks, cprt_world &world);

/// The same of ranks that are a process each, of which `ranks` share the
/// machine.
bool shareMachine(const cprt_options &read, int64_t ranks, cprt_world &world);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_WORLDOPTIONS_H
