//===- ReadTensors.h - Tensors of the types that a model takes --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_READTENSORS_H
#define CP_TOOLS_RUNNING_READTENSORS_H

#include "cp/Execution/Program.h"
#include "cp/Files/Safetensors.h"

#include <map>

namespace cp {

/// Counts what a file's tensors were converted to, and says it in one remark.
class Conversions {
public:
  void add(DType from, DType to);
  /// One line on standard error about the file, or nothing where every tensor
  /// had the model's type.
  void print(llvm::StringRef tool, llvm::StringRef path) const;

private:
  std::map<std::pair<DType, DType>, int64_t> counts;
};

/// A whole tensor from a file, by name, in the type of `spec`. Errors name the
/// file and the tensor: those of bindWeight() and convertElements().
llvm::Expected<HostTensor> readTensor(const TensorFile &file,
                                      const TensorSpec &spec,
                                      Conversions &conversions);

/// Whether files of this name hold one tensor and no names: .npy, .ids, .txt.
bool holdsOneTensor(llvm::StringRef path);

/// The tensor of such a file, in the type of `spec`:
///   .npy  an array of the argument's shape
///   .ids  as many token ids as it has elements, as text (readTokenIds())
///   .txt  token ids again: the text's first bytes, one each
/// Errors name the file, the argument, what was expected and what came; `tool`
/// remarks on what is converted.
llvm::Expected<HostTensor>
readSingle(llvm::StringRef tool, llvm::StringRef path, const TensorSpec &spec);

} // namespace cp

#endif // CP_TOOLS_RUNNING_READTENSORS_H
