//===- Numbers.h - Numbers of another program, in files ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_NUMBERS_H
#define CP_BENCHMARKS_WORKER_NUMBERS_H

#include "llvm/Support/Error.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace cp::bench {

/// Reads as many f32 numbers, in C order and this machine's byte order, as
/// there are in `values`; or writes them. Errors name the file.
inline llvm::Error transferNumbers(const std::string &path,
                                   std::vector<float> &values, bool isWriting) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), isWriting ? "wb" : "rb"), std::fclose);
  size_t done = !file ? 0
                : isWriting
                    ? std::fwrite(values.data(), 4, values.size(), file.get())
                    : std::fread(values.data(), 4, values.size(), file.get());
  if (done == values.size())
    return llvm::Error::success();
  return llvm::createStringError(path + ": " + std::to_string(done) + " of " +
                                 std::to_string(values.size()) +
                                 " f32 elements could be transferred");
}

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_NUMBERS_H
