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

/// What the header of a safetensors file says.
struct SafetensorsHeader {
  /// Ascending by position, with views into the file.
  std::vector<TensorView> tensors;
  /// The text map of the file itself.
  llvm::StringMap<std::string> metadata;
};

/// The header of a whole safetensors file. Errors as for TensorFile::open();
/// `label` starts them.
llvm::Expected<SafetensorsHeader> parseSafetensors(llvm::StringRef file,
                                                   llvm::StringRef label);

} // namespace cp

#endif // CP_FILES_SAFETENSORSHEADER_H
