//===- Program.cpp - The tables of a compiled program ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Runtime/cprt_program.h"

#include "CText.h"

#include "cp/Runtime/ProgramLayout.h"

#include <cstring>
#include <new>

using namespace cp::runtime;

extern "C" cprt_status cprt_program_check(const cprt_program *program,
                                          char *message, size_t capacity) {
  return reportToC("program_check", message, capacity, [&]() -> Error {
    if (!program)
      return Failure{CPRT_INVALID_ARGUMENT, "the program is null"};
    bool runs = program->abi_major == CPRT_PROGRAM_ABI_MAJOR &&
                program->abi_minor <= CPRT_PROGRAM_ABI_MINOR;
    if (runs)
      return std::nullopt;
    return Failure{
        CPRT_UNSUPPORTED,
        "the program is of interface " + std::to_string(program->abi_major) +
            "." + std::to_string(program->abi_minor) +
            ", and this runtime runs " +
            std::to_string(CPRT_PROGRAM_ABI_MAJOR) + ".0 to " +
            std::to_string(CPRT_PROGRAM_ABI_MAJOR) + "." +
            std::to_string(CPRT_PROGRAM_ABI_MINOR) +
            "; link the runtime that belongs to its compiler, or compile it "
            "again"};
  });
}

static int64_t bytesOf(const cprt_program_tensor *tensor,
                       const int64_t *sizes) {
  if (!tensor)
    return 0;
  auto bytes = int64_t(cprt_dtype_size(tensor->dtype));
  for (int32_t dim = 0; dim < tensor->rank; ++dim)
    bytes *= sizes[dim];
  return bytes;
}

extern "C" int64_t cprt_tensor_part_bytes(const cprt_program_tensor *tensor) {
  return bytesOf(tensor, tensor ? tensor->local_sizes : nullptr);
}

extern "C" int64_t cprt_tensor_bytes(const cprt_program_tensor *tensor) {
  return bytesOf(tensor, tensor ? tensor->sizes : nullptr);
}

/// Calls start(), then copy(wholeOffset, partOffset, bytes) for what `rank`
/// has.
template <typename StartFn, typename Fn>
static cprt_status walkPart(const cprt_program *program,
                            const cprt_program_tensor *tensor, int64_t rank,
                            bool hasMemory, StartFn start, Fn copy) try {
  if (!program || !tensor || !hasMemory)
    return CPRT_INVALID_ARGUMENT;
  std::optional<cp::Layout> layout = cp::layoutOf(*program, *tensor);
  if (!layout || rank < 0 || rank >= layout->mesh.numRanks())
    return CPRT_INVALID_ARGUMENT;
  if (!layout->partial.empty())
    return CPRT_UNSUPPORTED;
  std::vector<int64_t> sizes(tensor->sizes, tensor->sizes + tensor->rank);
  start();
  cp::PartWalker(*layout, sizes, rank, int64_t(cprt_dtype_size(tensor->dtype)))
      .walk(copy);
  return CPRT_OK;
} catch (const std::bad_alloc &) {
  return CPRT_OUT_OF_MEMORY;
}

extern "C" cprt_status cprt_tensor_split(const cprt_program *program,
                                         const cprt_program_tensor *tensor,
                                         int64_t rank, const void *whole,
                                         void *part) {
  // What no element comes to is padding.
  auto clear = [&] {
    std::memset(part, 0, size_t(cprt_tensor_part_bytes(tensor)));
  };
  return walkPart(program, tensor, rank, whole && part, clear,
                  [&](int64_t from, int64_t to, int64_t bytes) {
                    std::memcpy(static_cast<char *>(part) + to,
                                static_cast<const char *>(whole) + from,
                                size_t(bytes));
                  });
}

extern "C" cprt_status cprt_tensor_join(const cprt_program *program,
                                        const cprt_program_tensor *tensor,
                                        int64_t rank, const void *part,
                                        void *whole) {
  return walkPart(
      program, tensor, rank, whole && part, [] {},
      [&](int64_t to, int64_t from, int64_t bytes) {
        std::memcpy(static_cast<char *>(whole) + to,
                    static_cast<const char *>(part) + from, size_t(bytes));
      });
}
