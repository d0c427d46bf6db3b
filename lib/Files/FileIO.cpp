//===- FileIO.cpp - Files in and out, with errors that name them ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileIO.h"

#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace cp;
using llvm::ArrayRef;
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

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<NewFile>> NewFile::create(StringRef path) {
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
  return std::unique_ptr<NewFile>(new NewFile(path, std::move(*temp)));
}

NewFile::~NewFile() {
  if (!isOver)
    llvm::consumeError(temp.discard());
}

static Error cannotWrite(const std::string &label, int number) {
  std::error_code code(number, std::generic_category());
  return makeError(label + ": cannot write: " + code.message());
}

Error NewFile::write(uint64_t offset, ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written =
        ::pwrite(temp.FD, bytes.data(), bytes.size(), off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return cannotWrite(quotedName, written < 0 ? errno : ENOSPC);
    offset += uint64_t(written);
    bytes = bytes.drop_front(size_t(written));
  }
  return Error::success();
}

Error NewFile::resize(uint64_t bytes) {
  // A file with holes would fail where there is no room any more.
  int status = ::posix_fallocate(temp.FD, 0, off_t(bytes));
  bool cannotTell = status == EOPNOTSUPP || status == EINVAL;
  if (bytes == 0 || cannotTell)
    status = ::ftruncate(temp.FD, off_t(bytes)) ? errno : 0;
  return status ? cannotWrite(quotedName, status) : Error::success();
}

Error NewFile::keep() {
  isOver = true;
  if (Error error = temp.keep(path))
    return makeError(quotedName + ": cannot rename the finished file: " +
                     llvm::toString(std::move(error)));
  return Error::success();
}

Error cp::writeAtomically(StringRef path,
                          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  Expected<std::unique_ptr<NewFile>> file = NewFile::create(path);
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream stream((*file)->descriptor(), /*shouldClose=*/false);
  write(stream);
  stream.flush();
  std::error_code code = stream.error();
  // What is left to the stream's destructor would end the process.
  stream.clear_error();
  if (code)
    return makeError((*file)->label() + ": cannot write: " + code.message());
  return (*file)->keep();
}
