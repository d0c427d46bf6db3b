//===- WriteTensors.h - What ranks have, as a file -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_WRITETENSORS_H
#define CP_TOOLS_RUNNING_WRITETENSORS_H

#include "ResultNumbers.h"
#include "cp/Execution/Session.h"
#include "cp/Files/Safetensors.h"

namespace cp {

/// What a file has beside the tensors of ranks.
struct Beside {
  std::vector<TensorView> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Follows links. Writes the arguments that are `wanted`, and what is `beside`
/// them, to a .safetensors file that says that torch wrote it, which
/// transformers asks for. No process has a tensor whole that its rank
/// has not (Session::stream). All processes of a job call it, and one `writes`;
/// where that fails the others are not told. Gives, to the one that does, those
/// that are not finite. Errors: those of the file; a rank's.
llvm::Expected<std::vector<NotFiniteResult>>
writeArguments(const std::string &path, llvm::ArrayRef<TensorSpec> arguments,
               llvm::function_ref<bool(const TensorSpec &)> wanted,
               const Beside &beside, const Session &session, bool writes);

/// The same of a program's results, and what they say in short; an empty path
/// writes none.
llvm::Expected<ResultNumbers> writeResults(const std::string &path,
                                           const Program &program,
                                           const Session &session, bool writes);

} // namespace cp

#endif // CP_TOOLS_RUNNING_WRITETENSORS_H
