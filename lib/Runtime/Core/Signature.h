//===- Signature.h - The form that an operation's calls have ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SIGNATURE_H
#define CP_LIB_RUNTIME_SIGNATURE_H

#include "Descriptor.h"

#include "cp/Layout/Layout.h"

#include <cstring>

namespace cp::runtime {

/// That a decoded call has the tensors and the words that its operation is
/// declared with: CPRT_INVALID_ARGUMENT otherwise. What tensors must be like,
/// and integers beyond their least, is the operation's to say.
Error checkSignature(const Descriptor &call, const cprt_signature &signature);

/// CPRT_INVALID_ARGUMENT for an attribute outside [least, most].
Error expectWithin(const Descriptor &call, const char *name, int64_t value,
                   int64_t least, int64_t most);

struct Words {
  const int64_t *data = nullptr;
  size_t size = 0;
  int64_t operator[](size_t i) const { return data[i]; }
};

/// One word for each of `count` tensors, each in [least, most].
Error expectWords(const Descriptor &call, const char *name, Words words,
                  size_t count, int64_t least, int64_t most);

/// Reads the words of a call that checkSignature has passed, front to back.
class WordReader {
public:
  explicit WordReader(const Descriptor &call) : next(call.attrs()) {}

  int64_t word() { return *next++; }
  bool flag() { return word() != 0; }
  Cut order() { return cutOfWord(word()); }
  double real() { return asReal(word()); }
  Words array() {
    Words words = {next + 1, size_t(*next)};
    next += 1 + words.size;
    return words;
  }

  static double asReal(int64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

private:
  const int64_t *next;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SIGNATURE_H
