//===- CText.h - Options in and messages out of the C interface -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_CTEXT_H
#define CP_LIB_RUNTIME_CTEXT_H

#include "Status.h"

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

namespace cp::runtime {

/// At most `capacity` bytes of it, terminated, unless `message` is null.
void copyText(std::string_view text, char *message, size_t capacity);

/// Copies the caller's options, which begin with their `struct_size`, to
/// `known`, `size` bytes of zeros. A caller that was compiled with an older
/// header has fewer fields, one with a newer one more, which must be zero. New
/// fields go behind the last: padding of an older caller may hold anything.
/// `name` is the type's, `least` what the first header had.
Error readSizedOptions(const void *options, size_t least, const char *name,
                       void *known, size_t size);

/// Calls `body`, which returns an Error, for a function of the C interface
/// named `name`; its message goes to the caller.
template <typename Fn>
cprt_status reportToC(const char *name, char *message, size_t capacity,
                      Fn body) {
  copyText("", message, capacity);
  try {
    Error failure = body();
    if (!failure)
      return CPRT_OK;
    copyText(std::string(name) + ": " + failure->message, message, capacity);
    return failure->status;
  } catch (const std::bad_alloc &) {
    copyText("out of memory", message, capacity); // of which this needs none
    return CPRT_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    // No thread, for one.
    copyText(std::string(name) + ": the system says: " + error.what(), message,
             capacity);
    return CPRT_UNSUPPORTED;
  }
}

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_CTEXT_H
