//===- FakeNccl.h - What ranks of a test call as NCCL -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_FAKENCCL_H
#define CP_UNITTESTS_RUNTIME_FAKENCCL_H

#include "Mailbox.h"
#include "Nccl/Api.h"
#include "StreamDevice.h"

#include <string>

namespace cp::test {

/// NCCL among threads, on streams of a StreamDevice, as strict as it may be: a
/// send ends only with its receive, what is no group goes one after the other,
/// calls are in progress for a drawn while, and another call of that
/// communicator meanwhile is an error. Unlike sizes never meet. It cannot see
/// what NCCL needs of a card: room for its kernels, channels, registration.
class FakeNccl {
public:
  static nccl::Api api();
  /// Whatever is asked from now on has gone wrong like this, until Success.
  static void fail(nccl::Result how);
  /// Communicators that have not been destroyed.
  static int numComms();
};

/// A world for each of the ranks, which send messages over FakeNccl: through
/// the options' device, which is a StreamDevice's, or through one of their own,
/// when tensors are in the host's memory. On failure some are null.
std::vector<cprt_world *> makeNcclWorlds(cprt_options options, int64_t size,
                                         uint64_t seed);

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_FAKENCCL_H
