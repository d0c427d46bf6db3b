//===- Settings.cpp - What ranks are asked alike ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

namespace cp {

static uint64_t addWord(uint64_t settings, uint64_t word) {
  uint64_t both[] = {settings, word};
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(both), sizeof both));
}

uint64_t addSetting(uint64_t settings, double number) {
  return addWord(settings, llvm::bit_cast<uint64_t>(number));
}

/// Adds pieces of a file from its first byte to its last. Files of other
/// contents differ nearly everywhere, and all of a model's would take longer to
/// read than it takes to start.
static std::error_code addSamples(uint64_t &settings, llvm::StringRef file,
                                  uint64_t size) {
  constexpr uint64_t numPieces = 16, pieceBytes = 4096;
  for (uint64_t i = 0; i < numPieces; ++i) {
    uint64_t bytes = std::min(size, pieceBytes);
    auto piece = llvm::MemoryBuffer::getFileSlice(
        file, bytes, (size - bytes) / (numPieces - 1) * i);
    if (!piece)
      return piece.getError();
    settings = addWord(settings, llvm::xxh3_64bits(llvm::arrayRefFromStringRef(
                                     (*piece)->getBuffer())));
    if (bytes == size)
      break;
  }
  return {};
}

llvm::Expected<uint64_t> addFiles(uint64_t settings,
                                  llvm::ArrayRef<NamedFile> files) {
  for (const NamedFile &named : files) {
    llvm::sys::fs::file_status status;
    std::error_code code = llvm::sys::fs::status(named.file, status);
    // Of a pipe nothing may be read here.
    bool isFile = !code && llvm::sys::fs::is_regular_file(status);
    uint64_t size = isFile ? status.getSize() : 0;
    settings = addSetting(settings, double(size));
    if (size > 0)
      code = addSamples(settings, named.file, size);
    if (code)
      return llvm::createStringError(named.flag + "='" + named.file +
                                     "': " + code.message());
  }
  return settings;
}

llvm::Expected<uint64_t> settingsOf(const RunFlags &flags) {
  uint64_t settings = addWord(
      flags.seed, llvm::xxh3_64bits(llvm::arrayRefFromStringRef(flags.device)));
  for (double number :
       {double(flags.repeats), double(flags.kernels == "reference"),
        double(flags.hasLoss), double(flags.outputs.empty()),
        double(flags.saveWeights.empty()), double(flags.gradients.empty()),
        double(flags.ignoreUnusedWeights), double(flags.pieceBytes),
        double(flags.deviceFallback), double(flags.checkAgainst.empty())})
    settings = addSetting(settings, number);
  return addFiles(settings, inputsOfRanks(flags));
}

} // namespace cp
