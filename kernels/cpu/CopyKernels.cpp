//===- CopyKernels.cpp - copy and repeat ----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "MoveArguments.h"
#include "MoveKernels.h"
#include "StridedCopy.h"

namespace cp::kernels {

template <typename Args> static const char *move(const Call &call) {
  Args args;
  if (const char *message = decode(call, args))
    return message;
  StridedCopy copy = {};
  copy.elementBytes = elementBytes(args.from->dtype);
  args.forEachDim([&](int64_t size, int64_t from, int64_t to) {
    copy.addDim(size, from, to);
  });
  copy.run(args.from->data, args.to->data);
  return nullptr;
}

const char *copyKernel(const Call &call) { return move<CopyArgs>(call); }
const char *repeatKernel(const Call &call) { return move<RepeatArgs>(call); }

} // namespace cp::kernels
