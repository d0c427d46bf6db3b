//===- Attributes.h - The attribute words of a call -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_ATTRIBUTES_H
#define CP_LIB_RUNTIME_ATTRIBUTES_H

#include "Descriptor.h"

#include "cp/Layout/Layout.h"

namespace cp::runtime {

struct Words {
  const int64_t *data = nullptr;
  size_t size = 0;
  int64_t operator[](size_t i) const { return data[i]; }
};

/// Reads a call's attribute words front to back. The first word that does not
/// fit is kept for finish(), later reads then return zeros, so that callers
/// read everything first and test once.
class AttrReader {
public:
  explicit AttrReader(const Descriptor &call) : call(call) {}

  int64_t integer(const char *name, int64_t least, int64_t most);
  bool flag(const char *name) { return integer(name, 0, 1) != 0; }
  Cut order(const char *name) { return cutOfWord(integer(name, 0, INT64_MAX)); }
  Words array(const char *name);
  /// An array with `size` elements, each in [least, most].
  Words array(const char *name, size_t size, int64_t least, int64_t most);

  /// Also fails when words are left over.
  Result finish() const;

private:
  void fail(const std::string &text);

  const Descriptor &call;
  size_t next = 0;
  Result failure;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_ATTRIBUTES_H
