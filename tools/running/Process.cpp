//===- Process.cpp - How tools begin and end --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace cp {

/// What the handler can be told by nobody.
static const char *nameOfTool = "";

void beginProcess(const char *tool) {
  nameOfTool = tool;
  std::set_new_handler([] {
    std::fprintf(stderr, "%s: error: out of memory\n", nameOfTool);
    std::_Exit(1);
  });
  // Without them there is nobody to tell.
  [[maybe_unused]] std::error_code closed =
      llvm::sys::Process::FixupStandardFileDescriptors();
}

int exitStatus(const char *tool, int status) {
  llvm::outs().flush();
  std::error_code code = llvm::outs().error();
  if (!code)
    return status;
  llvm::outs().clear_error();
  llvm::errs() << tool << ": error: standard output: " << code.message()
               << "\n";
  return 1;
}

} // namespace cp
