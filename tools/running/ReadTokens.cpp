//===- ReadTokens.cpp - Token ids of a file -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadTokens.h"

#include "cp/Files/Convert.h"
#include "cp/Files/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>

namespace cp {

static llvm::Expected<std::vector<int64_t>> readArray(const std::string &path) {
  llvm::Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  if (array->dtype != DType::I32 && array->dtype != DType::I64)
    return llvm::createStringError(path +
                                   ": token ids must be I32 or I64, "
                                   "but are " +
                                   dtypeName(array->dtype).str());
  // Of several rows what comes behind the last token of one is not its next.
  if (llvm::count_if(array->shape, [](int64_t size) { return size > 1; }) > 1)
    return llvm::createStringError(
        path + ": expected token ids one after the other, got " +
        shapeText(array->shape) +
        "; join its rows to one, or give rows of a batch as .safetensors");
  auto bytes = convertElements(array->bytes, array->dtype, DType::I64, path);
  if (!bytes)
    return bytes.takeError();
  std::vector<int64_t> tokens(bytes->size() / sizeof(int64_t));
  std::memcpy(tokens.data(), bytes->data(), bytes->size());
  return tokens;
}

llvm::Error checkRegular(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) ||
      llvm::sys::fs::is_regular_file(status))
    return llvm::Error::success();
  return llvm::createStringError(path + ": expected a regular file, got " +
                                 (llvm::sys::fs::is_directory(status)
                                      ? "a directory"
                                      : "a pipe, socket or device"));
}

llvm::Expected<std::vector<int64_t>> readTokens(const std::string &path) {
  if (llvm::Error error = checkRegular(path))
    return error;
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension.equals_insensitive(".npy"))
    return readArray(path);
  if (extension.equals_insensitive(".ids"))
    return readTokenIds(path);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  // Files of numbers, archives and programs have it, as texts of two bytes a
  // character do.
  if ((*buffer)->getBuffer().contains('\0'))
    return llvm::createStringError(
        path + ": has bytes of 0, so it is no text of which each byte is a "
               "token; give token ids as .npy or .ids, or the text as UTF-8");
  std::vector<int64_t> tokens;
  for (char c : (*buffer)->getBuffer())
    tokens.push_back(static_cast<uint8_t>(c));
  return tokens;
}

std::optional<std::string>
outsideVocabulary(const std::string &what, int64_t token, int64_t vocabulary) {
  if (token >= 0 && (!vocabulary || token < vocabulary))
    return std::nullopt;
  std::string is = what + " is " + std::to_string(token);
  return vocabulary ? is + ", but the model's vocabulary has " +
                          std::to_string(vocabulary) + " ids"
                    : is + ", expected an id, which is at least 0";
}

} // namespace cp
