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
#define GET_READER_conv1d_grad
#include "KernelReaders.inc"

/// A window of one row looks at no other one, so it runs on rows in any order.
template <typename Args>
static const char *finish(Arguments &in, const Args &args) {
  if (in.error())
    return in.error();
  return args.w == 1 || in.isOnDevice()
             ? nullptr
             : checkPlaces(in.operation(), args.places, args.b, args.l);
}

template <typename T>
const char *decode(const Call &call, Conv1dArgs<T> &args) {
  Arguments in(call, "conv1d");
  read(in, args);
  return finish(in, args);
}

template <typename T>
const char *decode(const Call &call, Conv1dGradArgs<T> &args) {
  Arguments in(call, "conv1d_grad");
  read(in, args);
  return finish(in, args);
}

template const char *decode(const Call &, Conv1dArgs<float> &);
template const char *decode(const Call &, Conv1dArgs<double> &);
template const char *decode(const Call &, Conv1dArgs<BFloat16> &);
template const char *decode(const Call &, Conv1dGradArgs<float> &);
template const char *decode(const Call &, Conv1dGradArgs<double> &);
template const char *decode(const Call &, Conv1dGradArgs<BFloat16> &);

} // namespace cp::kernels
