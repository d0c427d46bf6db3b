//===- Curve.h - A line for each step ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_CURVE_H
#define CP_TOOLS_RUNNING_CURVE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace cp {

/// A file of step,loss,grad_norm,tokens_per_second,peak_bytes.
class Curve {
public:
  /// Of a run that goes on, the lines of the first `steps` steps stay, and
  /// those of steps that no checkpoint has go. Errors: a file that is not such
  /// a curve then; one that cannot be written.
  static llvm::Expected<Curve> open(const std::string &path, int64_t steps);

  /// Whoever watches the file sees it at once.
  void add(int64_t step, double loss, double norm, double tokensPerSecond,
           int64_t peakBytes);
  /// Says what could not be written.
  llvm::Error close();

private:
  std::string path;
  std::unique_ptr<llvm::raw_fd_ostream> file;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_CURVE_H
