//===- Attributes.cpp - The attribute words of a call ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"

#include <algorithm>

using namespace cp::runtime;

void AttrReader::fail(const std::string &text) {
  if (!failure)
    failure = call.invalid(text);
}

int64_t AttrReader::integer(const char *name, int64_t least, int64_t most) {
  if (next >= call.numAttrs())
    fail("attribute '" + std::string(name) + "' is missing: found " +
         std::to_string(call.numAttrs()) + " attribute words, expected more");
  if (failure)
    return 0;
  int64_t value = call.attrs()[next++];
  if (value >= least && value <= most)
    return value;
  fail("attribute '" + std::string(name) + "' is " + std::to_string(value) +
       ", expected " + std::to_string(least) + " to " + std::to_string(most));
  return 0;
}

Words AttrReader::array(const char *name) {
  int64_t left = int64_t(call.numAttrs()) - int64_t(next) - 1;
  int64_t size = integer(name, 0, std::max<int64_t>(left, 0));
  if (failure)
    return {};
  Words words = {call.attrs() + next, size_t(size)};
  next += size_t(size);
  return words;
}

Words AttrReader::array(const char *name, size_t size, int64_t least,
                        int64_t most) {
  static constexpr int64_t zeros[maxBuffers] = {};
  Words words = array(name);
  if (!failure && words.size != size)
    fail("attribute '" + std::string(name) + "' has " +
         std::to_string(words.size) + " elements, expected " +
         std::to_string(size) + ", one for each tensor");
  for (size_t i = 0; !failure && i < size; ++i)
    if (words[i] < least || words[i] > most)
      fail("attribute '" + std::string(name) + "' is " +
           listText(words.data, size) + ", expected elements from " +
           std::to_string(least) + " to " + std::to_string(most));
  return failure ? Words{zeros, size} : words;
}

Result AttrReader::finish() const {
  if (failure || next == call.numAttrs())
    return failure;
  return call.invalid("found " + std::to_string(call.numAttrs()) +
                      " attribute words, expected " + std::to_string(next) +
                      "; compile the program with the compiler that belongs "
                      "to this runtime");
}
