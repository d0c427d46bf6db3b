//===- FileIO.h - Files in and out, with errors that name them --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_FILEIO_H
#define CP_FILES_FILEIO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cp {

/// An error of nothing but this text.
llvm::Error makeError(const llvm::Twine &message);

/// Text from outside for a message: in single quotes, escaped, and cut after 96
/// bytes, so that a hostile name can neither flood nor steer a terminal.
std::string quoted(llvm::StringRef text);

/// The same of a file's name, which comes whole up to the 4096 bytes a system
/// takes: what tells files apart is mostly at its end.
std::string quotedPath(llvm::StringRef path);

/// The bytes of a regular file of at most `maxBytes`, mapped where the system
/// can. A pipe or a device is refused, for it may never end.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openRegularFile(llvm::StringRef path, uint64_t maxBytes);

/// A temporary file beside `path` that takes its place in the end, so that a
/// reader sees the old file or the whole new one. Errors name `path`.
class NewFile {
public:
  /// Errors: `path` is there and no regular file; nothing can be made there.
  static llvm::Expected<std::unique_ptr<NewFile>> create(llvm::StringRef path);
  /// Removes what was not kept.
  ~NewFile();

  /// The path, quoted, as errors have it.
  const std::string &label() const { return quotedName; }
  int descriptor() const { return temp.FD; }
  llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes);
  /// Behind what was written zeros.
  llvm::Error resize(uint64_t bytes);
  /// Renames it to `path`.
  llvm::Error keep();

private:
  NewFile(llvm::StringRef path, llvm::sys::fs::TempFile temp)
      : path(path), quotedName(quotedPath(path)), temp(std::move(temp)) {}
  std::string path, quotedName;
  llvm::sys::fs::TempFile temp;
  bool isOver = false;
};

/// Lets `write` fill a temporary file beside `path` and renames it to `path`,
/// so that a reader sees the old file or the whole new one. On an error `path`
/// stays as it was and the temporary file is gone.
llvm::Error
writeAtomically(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace cp

#endif // CP_FILES_FILEIO_H
