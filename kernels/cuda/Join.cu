//===- Join.cu - States and decays of neighbours, on a card ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As on the host (ScanSummary.cpp), no product is contracted with a sum, so
// that a scan has the same bits wherever its states are combined; but for
// subnormal numbers, which processors flush.
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"
#include "SsdWork.h"

namespace cp::kernels::cuda {

namespace {

#ifdef __CUDACC__
CP_DEVICE float sumOfProduct(float a, float b, float c) {
  return __fadd_rn(__fmul_rn(a, b), c);
}
CP_DEVICE double sumOfProduct(double a, double b, double c) {
  return __dadd_rn(__dmul_rn(a, b), c);
}
#else
/// Compiled without contraction.
template <typename T> T sumOfProduct(T a, T b, T c) { return a * b + c; }
#endif

/// A thread a state.
template <typename T> struct JoinStates {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  JoinStatesArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t i = int64_t(blockX()) * threads + thread();
    if (i >= args.n)
      return;
    T decay = *at(args.decays, (args.first + i) / args.inner);
    T own = *at(args.right, i);
    *at(args.y, i) =
        isStartDecay(decay) ? own : sumOfProduct(decay, *at(args.left, i), own);
  }
};

template <typename T> struct JoinDecays {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  JoinDecaysArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t i = int64_t(blockX()) * threads + thread();
    if (i < args.n)
      *at(args.y, i) = joinedDecays(*at(args.left, i), *at(args.right, i));
  }
};

} // namespace

template <typename Kernel, typename Args>
static const char *start(const char *op, const Call &call, void *stream) {
  Args args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  return launch(op, Kernel{args}, {ceilDiv(args.n, Kernel::threads)}, stream);
}

template <typename T> const char *joinStates(const Call &call, void *stream) {
  return start<JoinStates<T>, JoinStatesArgs<T>>("join_states", call, stream);
}

template <typename T> const char *joinDecays(const Call &call, void *stream) {
  return start<JoinDecays<T>, JoinDecaysArgs<T>>("join_decays", call, stream);
}

template const char *joinStates<float>(const Call &, void *);
template const char *joinStates<double>(const Call &, void *);
template const char *joinDecays<float>(const Call &, void *);
template const char *joinDecays<double>(const Call &, void *);

} // namespace cp::kernels::cuda
