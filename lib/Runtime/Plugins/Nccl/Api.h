//===- Api.h - What is called of NCCL ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_NCCL_API_H
#define CP_LIB_RUNTIME_PLUGINS_NCCL_API_H

#include <cstddef>
#include <string>

namespace cp::nccl {

/// ncclComm_t.
using Comm = void *;

/// ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

/// ncclResult_t.
enum Result : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};

/// ncclUint8, of ncclDataType_t: bytes are all that is moved.
constexpr int bytesType = 1;

/// ncclConfig_t of NCCL 2.18: a later library takes what is missing to be
/// undefined, as the version says.
struct Config {
  static constexpr int undefined = -2147483647 - 1;

  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  /// Calls do not wait for other ranks.
  int blocking = 0;
  int cgaClusterSize = undefined, minCTAs = undefined, maxCTAs = undefined;
  const char *netName = nullptr;
  /// Communicators of one another have resources of their own.
  int splitShare = 0;
};

/// The function's name here, and that of NCCL behind "nccl"; what it gives, and
/// takes.
#define CP_NCCL_FUNCTIONS(X)                                                   \
  X(getVersion, GetVersion, Result, (int *version))                            \
  X(getUniqueId, GetUniqueId, Result, (UniqueId * id))                         \
  X(getErrorString, GetErrorString, const char *, (Result result))             \
  X(getLastError, GetLastError, const char *, (Comm comm))                     \
  X(groupStart, GroupStart, Result, ())                                        \
  X(groupEnd, GroupEnd, Result, ())                                            \
  X(send, Send, Result,                                                        \
    (const void *data, size_t count, int type, int peer, Comm comm,            \
     void *stream))                                                            \
  X(receive, Recv, Result,                                                     \
    (void *data, size_t count, int type, int peer, Comm comm, void *stream))   \
  X(commInitRankConfig, CommInitRankConfig, Result,                            \
    (Comm * comm, int size, UniqueId id, int rank, Config *config))            \
  X(commSplit, CommSplit, Result,                                              \
    (Comm comm, int colour, int key, Comm *made, Config *config))              \
  X(commGetAsyncError, CommGetAsyncError, Result, (Comm comm, Result * state)) \
  X(commFinalize, CommFinalize, Result, (Comm comm))                           \
  X(commDestroy, CommDestroy, Result, (Comm comm))                             \
  X(commAbort, CommAbort, Result, (Comm comm))

/// NCCL's functions, as they are found when the program runs: nothing of it is
/// needed to build this. What they do is said in nccl.h.
struct Api {
// A member's type and name take no parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define CP_NCCL_MEMBER(name, symbol, type, arguments)                          \
  type(*name) arguments = nullptr;
  CP_NCCL_FUNCTIONS(CP_NCCL_MEMBER)
#undef CP_NCCL_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)

  /// Those of the library that the process has already, as frameworks do, or
  /// of one that the system finds. False, and a text that says what to do,
  /// where there is none, or it is too old. It stays loaded.
  bool load(std::string &message);
};

} // namespace cp::nccl

#endif // CP_LIB_RUNTIME_PLUGINS_NCCL_API_H
