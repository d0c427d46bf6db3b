//===- AssignLayouts.h - The pass, from options that may be left out *- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_ASSIGNLAYOUTS_H
#define CP_LIB_TRANSFORMS_ASSIGNLAYOUTS_H

#include "cp/Transforms/Passes.h"

namespace cp {

/// cp-assign-layouts with those of the pipeline's options that were given, so
/// that it can tell them from defaults: given ones are an error on a module
/// that is sharded already.
std::unique_ptr<mlir::Pass>
createAssignLayouts(const ShardPipelineOptions &options);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ASSIGNLAYOUTS_H
