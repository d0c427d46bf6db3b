//===- reference/Ssd.cpp - The scan as its recurrence ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Scratch.h"
#include "reference/Recurrence.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

template <typename T>
static void scanHead(const SsdArgs<T> &args, int64_t b, int64_t h,
                     AccumulatorOf<T> *memory) {
  using Acc = AccumulatorOf<T>;
  int64_t g = h / args.headsPerGroup();
  HeadState<T> state(memory, args, g);
  state.clear();
  if (args.initial.data)
    for (int64_t i = 0; i < args.p; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        state.at(i, j) = Acc(*args.initial.at(b, h, i, j));

  double rate = decayRate(double(Acc(*args.step.aLog.at(h))));
  for (int64_t t = 0; t < args.l; ++t) {
    if (!state.enter(args.places, b, t)) {
      state.skip(args, b, t, h);
      continue;
    }
    Acc delta = stepSize(args.step, b, t, h);
    state.update(Acc(decayOf(rate, delta)), delta, args.x.at(b, t, h),
                 args.x.strides[3], args.B.at(b, t, g), args.B.strides[3]);
    state.read(args, b, t, h);
  }
  state.store(lastTwo(args.finalState, b, h));
}

template <typename T> const char *ssd(const Call &call) {
  using Acc = AccumulatorOf<T>;
  SsdArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory =
      scratch(Slot::Kernel, carved<Acc>(HeadState<T>::elements(args)));
  if (!memory)
    return outOfMemory("ssd");
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t h = 0; h < args.h; ++h)
      scanHead(args, b, h, static_cast<Acc *>(memory));
  return nullptr;
}

template const char *ssd<float>(const Call &);
template const char *ssd<double>(const Call &);
template const char *ssd<BFloat16>(const Call &);

} // namespace cp::kernels::reference
