//===- ProgramFile.h - Programs of a file -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_PROGRAMFILE_H
#define CP_EXECUTION_PROGRAMFILE_H

#include "cp/Execution/Program.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>
#include <vector>

namespace cp {

/// What cp-compile has written (writeArtifact, cprt_program.h), ready to run in
/// this process.
struct ProgramFile {
  /// Loads the file, whose code runs as it is loaded: give none that you would
  /// not start. Errors: no such file; one that was cut off or damaged, is no
  /// program, or of another interface than this runtime's, or for a processor
  /// that has more than this machine's; a table that makes no sense; an
  /// operation that this process has not.
  static llvm::Expected<ProgramFile> load(const std::string &path);

  /// One; two for a step of micro-batches, and for forward and backward apart.
  /// Each keeps the file loaded.
  std::vector<std::unique_ptr<Program>> programs;
  /// What they were made of, as cp-run reports it: `stage`, `strategy` and
  /// `sharding`; and in `processor` what it is for. Empty for a file that says
  /// nothing of it.
  llvm::json::Object origin;
};

} // namespace cp

#endif // CP_EXECUTION_PROGRAMFILE_H
