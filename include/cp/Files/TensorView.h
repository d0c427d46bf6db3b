//===- TensorView.h - A tensor whose bytes live elsewhere -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_TENSORVIEW_H
#define CP_FILES_TENSORVIEW_H

#include "cp/Files/DType.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cp {

/// A named tensor whose bytes live elsewhere.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// C order, little-endian, and aligned to nothing: copy the elements out.
  llvm::ArrayRef<uint8_t> bytes;
};

} // namespace cp

#endif // CP_FILES_TENSORVIEW_H
