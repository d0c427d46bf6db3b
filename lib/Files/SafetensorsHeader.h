//===- SafetensorsHeader.h - The header of a safetensors file ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_SAFETENSORSHEADER_H
#define CP_FILES_SAFETENSORSHEADER_H

#include "cp/Files/Safetensors.h"

namespace cp {

/// The longest header that the format's reference implementation reads.
constexpr uint64_t maxHeaderBytes = 100000000;

/// The tensors of a whole safetensors file, ascending by position, with views
/// into `file`. Errors as for TensorFile::open(); `label` starts them.
llvm::Expected<std::vector<TensorView>> parseSafetensors(llvm::StringRef file,
                                                         llvm::StringRef label);

} // namespace cp

#endif // CP_FILES_SAFETENSORSHEADER_H
