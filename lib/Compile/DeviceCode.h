//===- DeviceCode.h - Kernels of a program as PTX ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_DEVICECODE_H
#define CP_LIB_COMPILE_DEVICECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cp {

/// Takes the module of kernels for a device, if there is one, out of a module
/// that was lowered, and defines `cp_device_code` as its code: PTX for cards
/// from sm_80 on, which the driver compiles for the card that it finds. Errors:
/// what LLVM cannot compile; a function that no card has.
llvm::Error compileDeviceKernels(mlir::ModuleOp module);

} // namespace cp

#endif // CP_LIB_COMPILE_DEVICECODE_H
