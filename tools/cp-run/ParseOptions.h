//===- ParseOptions.h - The command line of cp-run --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_PARSEOPTIONS_H
#define CP_TOOLS_CPRUN_PARSEOPTIONS_H

#include "Options.h"

namespace cp {

/// Reads the command line; ends the process on --help or a flag that it does
/// not know.
Options parseOptions(int argc, char **argv);

/// Refuses flags that what they were given with would not hear of.
llvm::Error checkTogether(const Options &options);

} // namespace cp

#endif // CP_TOOLS_CPRUN_PARSEOPTIONS_H
