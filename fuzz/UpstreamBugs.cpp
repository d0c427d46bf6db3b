//===- UpstreamBugs.cpp - Inputs that MLIR itself cannot take -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpstreamBugs.h"

#include "llvm/Support/Regex.h"

using namespace cp::fuzz;

/// One extended regular expression an entry.
static constexpr llvm::StringLiteral patterns[] = {
    // The parser asks index for its width: Type::getIntOrFloatBitWidth reads a
    // null FloatType.
    "array[[:space:]]*<[[:space:]]*index",
    // ExpandShapeOp's verifier reads the first dimension of an empty group.
    "expand_shape[^:]*\\[[[:space:]]*\\]",
    // The verifiers of reshapes cut an index to 32 bits and take -2^63 for 0;
    // bufferization then leaves it to verifiers that do not.
    "(expand|collapse)_shape[^:]*\\[[^:]*-[0-9]",
    // The parsers of reductions, transposes and broadcasts keep the null that a
    // list of numbers is which does not parse: what is no list, has another
    // character, a comma or a number too many, or one beyond 64 bits.
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*\\[[^]]*[0-9]{18}",
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*[^[[:space:]]",
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*\\[[^]]*[^]0-9,[:space:]"
    "]",
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*\\[[[:space:]]*,",
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*\\[[^]]*,[[:space:]]*[],"
    "]",
    "(dimensions|permutation)[[:space:]]*=[[:space:]]*\\[[^]]*[0-9][[:space:]]+"
    "[0-9]",
    // The parser of linalg.generic takes each element for a string.
    "iterator_types[[:space:]]*=[[:space:]]*\\[([^]]*,)?[[:space:]]*"
    "[^]\",[:space:]]",
};

bool cp::fuzz::hasUpstreamBug(llvm::StringRef text) {
  for (llvm::StringRef pattern : patterns)
    if (llvm::Regex(pattern, llvm::Regex::Newline).match(text))
      return true;
  return false;
}
