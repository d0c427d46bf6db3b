//===- Plugin.h - Libraries that are loaded by name -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_PLUGIN_H
#define CP_LIB_EXECUTION_PLUGIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cp {

/// The function of this name in a library, which stays loaded. `kind` is what
/// it is for messages: "transport".
llvm::Expected<void *> loadPlugin(llvm::StringRef kind, const std::string &path,
                                  const char *symbol);

/// The file libcprt_<name>.so among those installed beside `program`, argv[0],
/// or built with it. An error for one that is not there names those that have
/// the function `symbol`, or says `advice` where there are none.
llvm::Expected<std::string> findPlugin(llvm::StringRef kind,
                                       llvm::StringRef name,
                                       const std::string &program,
                                       llvm::StringRef symbol,
                                       llvm::StringRef advice);

} // namespace cp

#endif // CP_LIB_EXECUTION_PLUGIN_H
