//===- SafetensorsFuzzer.cpp - Any bytes as a safetensors file ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cp/Files/Safetensors.h"
#include "llvm/Support/Endian.h"

using namespace cp;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// A header's length stands before it.
static constexpr size_t lengthBytes = 8;

static void checkTensors(const TensorFile &file, size_t size) {
  size_t covered = 0;
  volatile uint8_t seen = 0;
  for (const TensorView &view : file.tensors()) {
    std::optional<int64_t> bytes = tensorBytes(view.shape, view.dtype);
    fuzz::require(bytes && uint64_t(*bytes) == view.bytes.size(),
                  "a tensor's bytes are not those of its shape");
    // Reads every byte, for the sanitizer.
    for (uint8_t byte : view.bytes)
      seen = seen ^ byte;
    covered += view.bytes.size();
    fuzz::require(file.find(view.name) == &view, "a tensor is not found");
    fuzz::require(!file.nearest(view.name, 2).empty(), "no name is near");
  }
  fuzz::require(covered < size, "tensors cover more than the file");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // No copy: the sanitizer knows where libFuzzer's own ends.
  auto file = TensorFile::fromBuffer(llvm::MemoryBuffer::getMemBuffer(
      bytes, "fuzz.safetensors", /*RequiresNullTerminator=*/false));
  if (fuzz::accepted(file))
    checkTensors(*file, size);
  return 0;
}

/// Half of the inputs get their header's true length, to reach the code behind
/// that check: the header is taken to end with the last '}'.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, maxSize);
  if (seed % 2 == 0 || size < lengthBytes)
    return size;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  size_t close = bytes.rfind('}');
  if (close != llvm::StringRef::npos && close >= lengthBytes)
    llvm::support::endian::write64le(data, close + 1 - lengthBytes);
  return size;
}
