//===- Settings.h - What ranks are asked alike ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number by which processes of a job find, before their first step, that they
// were asked for different runs.
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_SETTINGS_H
#define CP_TOOLS_RUNNING_SETTINGS_H

#include "Saving.h"

namespace cp {

/// Adds a number of a flag.
uint64_t addSetting(uint64_t settings, double number);
/// Adds the sizes and some of the bytes of files. Nodes may have them in other
/// places, so that names do not count. Errors: one that cannot be read, which
/// the others are told then.
llvm::Expected<uint64_t> addFiles(uint64_t settings,
                                  llvm::ArrayRef<NamedFile> files);

/// What these flags ask of each rank.
llvm::Expected<uint64_t> settingsOf(const RunFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_SETTINGS_H
