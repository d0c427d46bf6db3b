//===- Room.h - What a caller has room for ------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_ROOM_H
#define CP_LIB_RUNTIME_PLUGINS_ROOM_H

#include "cp/Runtime/cprt_transport.h"

#include <stddef.h>
#include <stdio.h>

/// Whether a caller's structure, which says that it has `given` bytes, takes
/// the `needed` ones that a plug-in writes. Tables have grown: a plug-in that
/// is newer than its caller would write behind the caller's. 0, and a text of
/// at most `capacity` bytes, where it does not.
static inline int cp_has_room(const char *what, size_t given, size_t needed,
                              char *message, size_t capacity) {
  if (given >= needed)
    return 1;
  if (message && capacity)
    snprintf(message, capacity,
             "struct_size of the caller's %s is %zu, expected %zu or more; set "
             "it, and build the caller and the plug-in of one release",
             what, given, needed);
  return 0;
}

/// The same of what cprt_transport_open fills in.
static inline int cp_have_room(const cprt_transport *transport,
                               const cprt_job *job, char *message,
                               size_t capacity) {
  return cp_has_room("cprt_transport", transport->struct_size,
                     sizeof *transport, message, capacity) &&
         cp_has_room("cprt_job", job->struct_size, sizeof *job, message,
                     capacity);
}

#endif // CP_LIB_RUNTIME_PLUGINS_ROOM_H
