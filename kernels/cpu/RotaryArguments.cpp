//===- RotaryArguments.cpp - Decoding of rotary ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

#define GET_READER_rotary
#include "KernelReaders.inc"

/// What no dimension of a buffer says.
static const char *checkRotation(int64_t dims, double theta, int64_t channels) {
  if (dims % 2 != 0 || dims > channels)
    return fail("rotary: dims must be even and at most p = %lld, got %lld",
                static_cast<long long>(channels), static_cast<long long>(dims));
  if (!(theta > 0))
    return fail("rotary: theta must be above 0, got %g", theta);
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, RotaryArgs<T> &args) {
  Arguments in(call, "rotary");
  read(in, args);
  if (in.error())
    return in.error();
  return checkRotation(args.dims, args.theta, args.p);
}

template const char *decode(const Call &, RotaryArgs<float> &);
template const char *decode(const Call &, RotaryArgs<double> &);
template const char *decode(const Call &, RotaryArgs<BFloat16> &);

} // namespace cp::kernels
