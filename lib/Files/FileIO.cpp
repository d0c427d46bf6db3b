//===- FileIO.cpp - Files in and out, with errors that name them ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileIO.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::MemoryBuffer;
using llvm::StringRef;
using llvm::Twine;

Error cp::makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string quoteUpTo(StringRef text, size_t limit) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  stream << '\'';
  llvm::printEscapedString(text.take_front(limit), stream);
  stream << (text.size() > limit ? "...'" : "'");
  return out;
}

std::string cp::quoted(StringRef text) { return quoteUpTo(text, 96); }

std::string cp::quotedPath(StringRef path) { return quoteUpTo(path, 4096); }

Expected<std::unique_ptr<MemoryBuffer>> cp::openRegularFile(StringRef path,
                                                            uint64_t maxBytes) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return makeError(quotedPath(path) + ": cannot open: " + code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return makeError(quotedPath(path) + ": expected a regular file, got " +
                     (llvm::sys::fs::is_directory(status)
                          ? "a directory"
                          : "a pipe, socket or device"));
  if (status.getSize() > maxBytes)
    return makeError(quotedPath(path) + ": expected at most " +
                     Twine(maxBytes) + " bytes, got " +
                     Twine(status.getSize()));
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError(quotedPath(path) +
                     ": cannot read: " + buffer.getError().message());
  return std::move(*buffer);
}

/// Runs `write` on the temporary file; what the system refused is returned and
/// not left to the stream's destructor, which would end the process.
static std::error_code
fill(llvm::sys::fs::TempFile &temp,
     llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream stream(temp.FD, /*shouldClose=*/false);
  write(stream);
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

Error cp::writeAtomically(StringRef path,
                          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::sys::fs::file_status status;
  // The rename would put a file in the place of a device such as /dev/null.
  if (!llvm::sys::fs::status(path, status) && !is_regular_file(status))
    return makeError(
        quotedPath(path) + ": expected a regular file or none, got " +
        (is_directory(status) ? "a directory" : "a pipe, socket or device"));
  auto temp = llvm::sys::fs::TempFile::create(path + ".tmp-%%%%%%%%");
  if (!temp)
    return makeError(quotedPath(path) + ": cannot create a file beside it: " +
                     llvm::toString(temp.takeError()));
  if (std::error_code code = fill(*temp, write)) {
    llvm::consumeError(temp->discard());
    return makeError(quotedPath(path) + ": cannot write: " + code.message());
  }
  if (Error error = temp->keep(path))
    return makeError(quotedPath(path) + ": cannot rename the finished file: " +
                     llvm::toString(std::move(error)));
  return Error::success();
}
