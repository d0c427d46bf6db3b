//===- Conv1d.cu - Causal depthwise convolution on a card -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conv1d.h"
#include "CudaKernels.h"

namespace cp::kernels::cuda {

template <typename T> static bool hasVectors(const Conv1dArgs<T> &args) {
  return !std::is_same_v<T, double> && args.w == 4 &&
         isVectorised(args.x, args.c) && isVectorised(args.y, args.c) &&
         (!args.initial.data || isVectorised(args.initial, args.c));
}

/// Whether the weights lie one behind the other.
template <typename T> static bool hasWeightVectors(const Conv1dArgs<T> &args) {
  return reinterpret_cast<uintptr_t>(args.weight.data) % 16 == 0 &&
         args.weight.strides[0] == args.w && args.weight.strides[1] == 1;
}

template <typename T, bool Silu, bool Places>
static const char *startVectors(const Conv1dArgs<T> &args, void *stream) {
  using Kernel = Conv1dVectors<T, Silu, Places>;
  return launch(
      "conv1d",
      Kernel{args, hasWeightVectors(args), isVectorised(args.bias, args.c)},
      {ceilDiv(args.l, Kernel::blockRows),
       ceilDiv(args.c, warpSize * Kernel::width), args.b},
      stream);
}

template <typename T> const char *conv1d(const Call &call, void *stream) {
  Conv1dArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  if constexpr (!std::is_same_v<T, double>)
    if (hasVectors(args)) {
      if (args.places.data)
        return args.silu ? startVectors<T, true, true>(args, stream)
                         : startVectors<T, false, true>(args, stream);
      return args.silu ? startVectors<T, true, false>(args, stream)
                       : startVectors<T, false, false>(args, stream);
    }
  using Kernel = Conv1dPlain<T>;
  return launch("conv1d", Kernel{args},
                {ceilDiv(args.l * args.c, Kernel::threads), 1, args.b}, stream);
}

template const char *conv1d<float>(const Call &, void *);
template const char *conv1d<double>(const Call &, void *);
template const char *conv1d<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
