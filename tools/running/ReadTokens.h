//===- ReadTokens.h - Token ids of a file -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_READTOKENS_H
#define CP_TOOLS_RUNNING_READTOKENS_H

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Refuses what is there and no regular file: to open a pipe that nobody writes
/// to would wait for ever.
llvm::Error checkRegular(llvm::StringRef path);

/// All token ids of a file:
///   .npy  the elements of an array of I32 or I64
///   .ids  whole numbers as text (readTokenIds())
/// and of any other one its bytes, one each. Errors name the file.
llvm::Expected<std::vector<int64_t>> readTokens(const std::string &path);

/// "token number 3 is 999, but the model's vocabulary has 256 ids" for a
/// `vocabulary` (0: not known) without the token, else nothing.
std::optional<std::string> outsideVocabulary(const std::string &what,
                                             int64_t token, int64_t vocabulary);

} // namespace cp

#endif // CP_TOOLS_RUNNING_READTOKENS_H
