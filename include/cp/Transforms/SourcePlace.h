//===- SourcePlace.h - Where in a file an op comes from ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_SOURCEPLACE_H
#define CP_TRANSFORMS_SOURCEPLACE_H

#include "mlir/IR/Location.h"

#include <string>

namespace cp {

/// The first place in a file that a location names, "model.mlir:13:10", or "-"
/// if it names none.
std::string sourcePlace(mlir::Location location);

} // namespace cp

#endif // CP_TRANSFORMS_SOURCEPLACE_H
