//===- TestFiles.h - Files and error texts for the tests --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_TESTFILES_H
#define CP_MODEL_TESTFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace cp::test {

/// A new directory, removed with what is in it.
class TempDir {
public:
  TempDir() {
    std::error_code code =
        llvm::sys::fs::createUniqueDirectory("cp-model", directory);
    EXPECT_FALSE(code) << code.message();
  }
  // LLVM's leaves what is no file, as a pipe.
  ~TempDir() {
    std::error_code code;
    std::filesystem::remove_all(directory.c_str(), code);
    EXPECT_FALSE(code) << code.message();
  }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> out = directory;
    llvm::sys::path::append(out, name);
    return out.str().str();
  }
  std::string write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes.str();
    return path(name);
  }
  /// The names of the files in it.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(directory, code), end; it != end;
         it.increment(code))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

private:
  llvm::SmallString<128> directory;
};

inline std::string readAll(const std::string &path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// The error's text, or "" for a value.
template <typename T> std::string errorOf(llvm::Expected<T> result) {
  if (result)
    return "";
  return llvm::toString(result.takeError());
}
inline std::string errorOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "";
}

/// That `text` holds each of `parts`.
inline void expectParts(const std::string &text,
                        std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos)
        << "expected '" << part << "' in: " << text;
}

/// A safetensors file of this header and data.
inline std::string safetensorsBytes(llvm::StringRef header,
                                    llvm::StringRef data) {
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  return std::string(length, 8) + header.str() + data.str();
}

inline std::unique_ptr<llvm::MemoryBuffer> bufferOf(llvm::StringRef bytes) {
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, "memory");
}

} // namespace cp::test

#endif // CP_MODEL_TESTFILES_H
