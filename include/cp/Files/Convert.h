//===- Convert.h - Elements in another type ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_CONVERT_H
#define CP_FILES_CONVERT_H

#include "cp/Files/Bytes.h"
#include "cp/Files/DType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace cp {

/// The bits of the bf16 nearest to `value`, ties to even; NaN stays NaN.
uint16_t roundToBF16(double value);

/// Whether convertElements() has a way: from F16, BF16, F32 and F64 to BF16,
/// F32 and F64, and from whole numbers of up to 32 bits and I64 to I32 and I64.
/// A type converts to itself.
bool isConvertible(DType from, DType to);

/// Whether every value of `from` is one of `to`, so that nothing is rounded.
bool isExact(DType from, DType to);

/// The elements of `bytes` (C order, little-endian, aligned to nothing) in
/// another type. Floats are rounded once, to nearest and ties to even; NaN
/// stays NaN. Errors start with `label`: a number that `to` has not, an
/// integer or a finite one beyond its largest, with its place and its value.
/// Precondition: isConvertible(from, to), and bytes of whole elements.
llvm::Expected<Bytes> convertElements(llvm::ArrayRef<uint8_t> bytes, DType from,
                                      DType to, llvm::StringRef label);

/// Token ids as text: whole decimal numbers between white space, a comma, or
/// both. Errors start with `label` and name the line: anything else, a number
/// beyond 63 bits.
llvm::Expected<std::vector<int64_t>> parseTokenIds(llvm::StringRef text,
                                                   llvm::StringRef label);

/// parseTokenIds() of a regular file.
llvm::Expected<std::vector<int64_t>> readTokenIds(llvm::StringRef path);

} // namespace cp

#endif // CP_FILES_CONVERT_H
