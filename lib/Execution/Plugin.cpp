//===- Plugin.cpp - Libraries that are loaded by name ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <vector>

namespace cp {

llvm::Expected<void *> loadPlugin(llvm::StringRef kind, const std::string &path,
                                  const char *symbol) {
  std::string message;
  auto library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return llvm::createStringError("the " + kind +
                                   " cannot be loaded: " + message);
  void *function = library.getAddressOfSymbol(symbol);
  if (!function)
    return llvm::createStringError(path + " is no " + kind +
                                   ": it exports no function " + symbol);
  return function;
}

static constexpr llvm::StringLiteral prefix = "libcprt_", suffix = ".so";

/// Whether a library is of a kind, as far as one can tell that does not load
/// it.
static bool names(const std::string &path, llvm::StringRef symbol) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  return file && (*file)->getBuffer().contains(symbol);
}

llvm::Expected<std::string> findPlugin(llvm::StringRef kind,
                                       llvm::StringRef name,
                                       const std::string &program,
                                       llvm::StringRef symbol,
                                       llvm::StringRef advice) {
  std::string executable = llvm::sys::fs::getMainExecutable(
      program.c_str(), reinterpret_cast<void *>(&findPlugin));
  llvm::SmallString<256> folder =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(folder, "lib");
  std::vector<std::string> others;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end;
       !code && file != end; file.increment(code)) {
    llvm::StringRef found = llvm::sys::path::filename(file->path());
    if (!found.consume_front(prefix) || !found.consume_back(suffix))
      continue;
    if (found == name)
      return file->path();
    if (names(file->path(), symbol))
      others.push_back(found.str());
  }
  llvm::sort(others);
  return llvm::createStringError(
      "there is no " + kind + " '" + name + "' in " + folder + "; " +
      (others.empty() ? advice.str() : "it has " + llvm::join(others, ", ")));
}

} // namespace cp
