//===- HeaderCheck.cpp - That Api.h says what nccl.h does -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <nccl.h>

namespace ours = cp::nccl;

#define CP_SAME_PLACE(member)                                                  \
  static_assert(offsetof(ours::Config, member) ==                              \
                offsetof(ncclConfig_t, member))
CP_SAME_PLACE(size);
CP_SAME_PLACE(magic);
CP_SAME_PLACE(version);
CP_SAME_PLACE(blocking);
CP_SAME_PLACE(cgaClusterSize);
CP_SAME_PLACE(minCTAs);
CP_SAME_PLACE(maxCTAs);
CP_SAME_PLACE(netName);
CP_SAME_PLACE(splitShare);
static_assert(ours::Config::undefined == NCCL_CONFIG_UNDEF_INT);
static_assert(sizeof(ours::UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(ours::Comm) == sizeof(ncclComm_t));
static_assert(int(ours::bytesType) == int(ncclUint8));
static_assert(int(ours::Success) == int(ncclSuccess));
static_assert(int(ours::UnhandledCudaError) == int(ncclUnhandledCudaError));
static_assert(int(ours::InvalidArgument) == int(ncclInvalidArgument));
static_assert(int(ours::InvalidUsage) == int(ncclInvalidUsage));
static_assert(int(ours::RemoteError) == int(ncclRemoteError));
static_assert(int(ours::InProgress) == int(ncclInProgress));
