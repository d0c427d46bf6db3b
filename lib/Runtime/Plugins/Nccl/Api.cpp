//===- Api.cpp - What is called of NCCL -----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <dlfcn.h>

using namespace cp::nccl;

/// That of 2.18: the first whose communicators can be split.
static constexpr int leastVersion = 21800;

static std::string versionText(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

bool Api::load(std::string &message) {
  static constexpr const char *library = "libnccl.so.2";
  void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (!loaded)
    loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) {
    message = std::string("NCCL is not found: ") + dlerror() +
              "; install it, or say by LD_LIBRARY_PATH where it is";
    return false;
  }
  const char *missing = nullptr;
  // NOLINTBEGIN(bugprone-macro-parentheses)
#define CP_NCCL_FIND(name, symbol, type, arguments)                            \
  name = reinterpret_cast<decltype(name)>(dlsym(loaded, "nccl" #symbol));      \
  if (!name && !missing)                                                       \
    missing = "nccl" #symbol;
  CP_NCCL_FUNCTIONS(CP_NCCL_FIND)
#undef CP_NCCL_FIND
  // NOLINTEND(bugprone-macro-parentheses)
  int version = 0;
  bool isKnown = getVersion && getVersion(&version) == Success;
  if (!missing && isKnown && version >= leastVersion)
    return true;
  message =
      "NCCL is of version " + (isKnown ? versionText(version) : "unknown") +
      (missing ? std::string(" and has no ") + missing : "") + ", expected " +
      versionText(leastVersion) + " or newer; install that";
  return false;
}
