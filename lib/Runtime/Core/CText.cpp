//===- CText.cpp - Options in and messages out of the C interface ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CText.h"

#include <algorithm>

using namespace cp::runtime;

void cp::runtime::copyText(std::string_view text, char *message,
                           size_t capacity) {
  if (!message || !capacity)
    return;
  size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

Error cp::runtime::readSizedOptions(const void *options, size_t least,
                                    const char *name, void *known,
                                    size_t size) {
  constexpr size_t most = 4096;
  if (!options)
    return Failure{CPRT_INVALID_ARGUMENT,
                   "the options are null, expected a " + std::string(name)};
  size_t given = 0;
  std::memcpy(&given, options, sizeof(given));
  if (given < least || given > most || given % alignof(int64_t) != 0)
    return Failure{
        CPRT_INVALID_ARGUMENT,
        "struct_size is " + std::to_string(given) + ", expected " +
            std::to_string(size) + ", the sizeof(" + name +
            ") of this library, or that of an older or newer header"};
  const char *bytes = static_cast<const char *>(options);
  const char *tail = bytes + std::min(given, size);
  if (std::any_of(tail, bytes + given, [](char byte) { return byte != 0; }))
    return Failure{CPRT_INVALID_ARGUMENT,
                   "struct_size is " + std::to_string(given) + ", and behind " +
                       std::to_string(size) +
                       " bytes, which are what this library knows, an option "
                       "is not zero; link the runtime that belongs to the "
                       "caller's header, or leave that option at its default"};
  std::memcpy(known, options, std::min(given, size));
  return std::nullopt;
}
