//===- PartRoom.h - Parts of unlike sizes in one shape ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives move parts of one size. Where a cut lists sizes, each part gets
// room for the largest: what is made so is spread over as many such rooms as
// there are ranks before the collective cuts it, and what holds nothing is
// taken out of what it put together. Both are the same on every rank.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PARTROOM_H
#define CP_LIB_TRANSFORMS_PARTROOM_H

#include "cp/Layout/Cut.h"
#include "mlir/IR/Builders.h"

namespace cp {

/// `whole`, whose dimension `dim` is as long as the cut's sizes in all, with
/// zeros behind each part where that has room for more. The value itself where
/// no part has.
mlir::Value withRoom(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value whole, int64_t dim, const Cut &cut);

/// The inverse: the parts side by side.
mlir::Value withoutRoom(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value roomy, int64_t dim, const Cut &cut);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PARTROOM_H
