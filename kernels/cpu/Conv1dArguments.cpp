//===- Conv1dArguments.cpp - Decoding of conv1d ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

#define GET_READER_conv1d
#include "KernelReaders.inc"

template <typename T>
const char *decode(const Call &call, Conv1dArgs<T> &args) {
  Arguments in(call, "conv1d");
  read(in, args);
  if (in.error())
    return in.error();
  // A window of one row looks at no other one, so it runs on rows in any order.
  return args.w == 1 ? nullptr
                     : checkPlaces("conv1d", args.places, args.b, args.l);
}

template const char *decode(const Call &, Conv1dArgs<float> &);
template const char *decode(const Call &, Conv1dArgs<double> &);
template const char *decode(const Call &, Conv1dArgs<BFloat16> &);

} // namespace cp::kernels
