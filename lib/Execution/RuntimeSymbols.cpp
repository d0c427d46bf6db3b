//===- RuntimeSymbols.cpp - The runtime's symbols by name -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"

#include <cmath>
#include <cstring>

namespace cp {
namespace {

struct Operation {
  const char *name;
  cprt_op *function;
};

const Operation operations[] = {
    {"cprt_matmul", cprt_matmul},
    {"cprt_conv1d", cprt_conv1d},
    {"cprt_ssd", cprt_ssd},
    {"cprt_ssd_states", cprt_ssd_states},
    {"cprt_ssd_scan", cprt_ssd_scan},
    {"cprt_attention", cprt_attention},
    {"cprt_rms_norm", cprt_rms_norm},
    {"cprt_rotary", cprt_rotary},
    {"cprt_positions", cprt_positions},
    {"cprt_embedding", cprt_embedding},
    {"cprt_copy", cprt_copy},
    {"cprt_repeat", cprt_repeat},
    {"cprt_all_to_all", cprt_all_to_all},
    {"cprt_all_gather", cprt_all_gather},
    {"cprt_slice", cprt_slice},
    {"cprt_all_reduce", cprt_all_reduce},
    {"cprt_reduce_scatter", cprt_reduce_scatter},
    {"cprt_shift", cprt_shift},
    {"cprt_halo", cprt_halo},
    {"cprt_scan_state", cprt_scan_state},
    {"cprt_ring_attention", cprt_ring_attention},
    {"cprt_reorder", cprt_reorder},
};

/// The bits of a float rounded to bfloat16, to nearest even.
uint16_t roundToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A bfloat16 is returned in the low half of the register that a float is.
float inRegister(uint16_t bits) {
  uint32_t wide = bits;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// What code calls that makes bfloat16 on processors that do not. GCC's library
/// has these from 13 on.
float truncateFloat(float value) { return inRegister(roundToBF16(value)); }

/// Rounds to float first, to odd, so that the second rounding is right.
float truncateDouble(double value) {
  auto narrow = static_cast<float>(value);
  if (std::isfinite(narrow) && static_cast<double>(narrow) != value) {
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    // Toward zero, then odd.
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value))
      --bits;
    bits |= 1;
    std::memcpy(&narrow, &bits, sizeof(bits));
  }
  return inRegister(roundToBF16(narrow));
}

} // namespace

llvm::Expected<llvm::orc::SymbolMap>
runtimeSymbols(llvm::orc::LLJIT &jit, llvm::ArrayRef<RuntimeOperation> others) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    return symbols
        .try_emplace(jit.mangleAndIntern(name),
                     llvm::orc::ExecutorAddr::fromPtr(function),
                     llvm::JITSymbolFlags::Exported |
                         llvm::JITSymbolFlags::Callable)
        .second;
  };
  for (const Operation &operation : operations)
    add(operation.name, operation.function);
  add("cprt_alloc", cprt_alloc);
  add("cprt_arena", cprt_arena);
  add("cprt_free", cprt_free);
  add("cprt_launch", cprt_launch);
  add("__truncsfbf2", truncateFloat);
  add("__truncdfbf2", truncateDouble);
  for (const RuntimeOperation &operation : others)
    if (!operation.function ||
        !add("cprt_" + operation.symbol, operation.function))
      return llvm::createStringError(
          "operation '" + operation.symbol +
          (operation.function
               ? "' is given twice or is the runtime's own; rename it"
               : "' has no function"));
  return symbols;
}

} // namespace cp
