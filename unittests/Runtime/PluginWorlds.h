//===- PluginWorlds.h - Ranks of a test over a plug-in ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_PLUGINWORLDS_H
#define CP_UNITTESTS_RUNTIME_PLUGINWORLDS_H

#include "cp/Runtime/cprt_transport.h"

#include <vector>

namespace cp::test {

/// A world for each of the ranks, which are threads here, and send messages
/// over UCX as processes do: by its plug-in, which is told their places. On
/// failure some are null.
std::vector<cprt_world *> makeUcxWorlds(const cprt_options &options,
                                        int64_t size);

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_PLUGINWORLDS_H
