//===- IRMutator.h - Changes that leave IR near to what parses --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FUZZ_IRMUTATOR_H
#define CP_FUZZ_IRMUTATOR_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace cp::fuzz {

/// A copy of `text` with one change or more of whole tokens or lines: another
/// integer, word, value or type, here or wherever the same stands; a token or a
/// line dropped, doubled or moved; an attribute added; other passes in the
/// first line. The same text and seed give the same copy.
std::string mutateIR(llvm::StringRef text, uint64_t seed);

} // namespace cp::fuzz

#endif // CP_FUZZ_IRMUTATOR_H
