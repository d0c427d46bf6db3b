//===- Saving.h - The files that a run writes -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_SAVING_H
#define CP_TOOLS_RUNNING_SAVING_H

#include "Inputs.h"
#include "RunFlags.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// A file and the flag that names it.
struct NamedFile {
  std::string flag, file;
  /// Of one to write: it may be a device, a pipe, or - for standard output.
  bool takesDevices = false;
};

/// The files that each process of a job reads, and all that a run does.
std::vector<NamedFile> inputsOfRanks(const RunFlags &options);
std::vector<NamedFile> inputsOf(const RunFlags &options);

/// Refuses, before anything runs, a file to write that could not be written in
/// the end or that must not be: one in a folder that is not there or cannot be
/// written, a folder, a device (unless it takes them), a link to nothing, one
/// that is among `inputs` (by identity: through links and other names too), or
/// that is another output. Makes an empty file beside each for a moment.
llvm::Error checkFiles(llvm::ArrayRef<NamedFile> outputs,
                       std::vector<NamedFile> inputs);
/// The same of what a run writes.
llvm::Error checkOutputs(const RunFlags &options);

/// Where a link goes; any other file itself.
std::string targetOf(const std::string &file);

/// The name of standard output where a file is that: under the device's name it
/// would be opened once more, and what is there be cut off.
inline llvm::StringRef orStandardOutput(llvm::StringRef file) {
  return file == "/dev/stdout" ? "-" : file;
}

/// Refuses two tensors of one name in one file.
llvm::Error checkNames(const RunFlags &options, const Program &program);

/// Writes --save-weights and --outputs; with --rows results for each token are
/// those of the rows. Links are followed. Tries both; errors
/// name the files.
llvm::Error saveTensors(const RunFlags &options, const Program &program,
                        const Inputs &inputs,
                        llvm::ArrayRef<HostTensor> results);

/// Writes a report.
llvm::Error writeJson(const std::string &path, const llvm::json::Value &value);

} // namespace cp

#endif // CP_TOOLS_RUNNING_SAVING_H
