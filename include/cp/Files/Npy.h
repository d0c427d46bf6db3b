//===- Npy.h - Arrays stored as .npy files ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_NPY_H
#define CP_FILES_NPY_H

#include "cp/Files/Bytes.h"
#include "cp/Files/DType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace cp {

/// An array and its bytes: C order, little-endian.
struct NpyArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  Bytes bytes;
};

/// Reads a .npy file of format version 1.0 or 2.0 with little-endian f4, f8, i4
/// or i8 elements in C order. Errors name the file, what was expected and what
/// came: any other version, type or order (Fortran order by its name), a header
/// that is not as NumPy's format document says, data that are not exactly the
/// shape's bytes.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// The same for the bytes of a file; `label` stands for its name in errors.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef file, llvm::StringRef label);

/// Writes format version 1.0, atomically. Errors: a type other than F32, F64,
/// I32 and I64, bytes that do not fit the shape, a header beyond 64 kB (a
/// shape of thousands of dimensions), a system error.
llvm::Error writeNpy(llvm::StringRef path, DType dtype,
                     llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<uint8_t> bytes);

} // namespace cp

#endif // CP_FILES_NPY_H
