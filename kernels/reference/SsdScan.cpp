//===- reference/SsdScan.cpp - The second half of a cut scan --------------===//
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

/// The incoming state: prefix_decay * initial + prefix_state, of which the
/// decay of a start leaves the latter.
template <typename T>
static void loadPrefix(const SsdScanArgs<T> &args, int64_t b, int64_t h,
                       HeadState<T> &state) {
  using Acc = AccumulatorOf<T>;
  Acc decay = *args.prefixDecay.at(b, h);
  for (int64_t i = 0; i < args.p; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      Acc initial = args.initial.data ? Acc(*args.initial.at(b, h, i, j)) : 0;
      Acc prefix = *args.prefixState.at(b, h, i, j);
      state.at(i, j) =
          args.initial.data ? decayed(decay, initial, prefix) : prefix;
    }
  }
}

/// The recurrence again; the chunk states are for kernels that work by chunks.
template <typename T>
static void scanHead(const SsdScanArgs<T> &args, int64_t b, int64_t h,
                     AccumulatorOf<T> *memory) {
  using Acc = AccumulatorOf<T>;
  int64_t g = h / args.headsPerGroup();
  HeadState<T> state(memory, args, g);
  loadPrefix(args, b, h, state);
  double rate = decayRate(double(Acc(*args.aLog.at(h))));
  for (int64_t t = 0; t < args.l; ++t) {
    if (!state.enter(args.places, b, t)) {
      state.skip(args, b, t, h);
      continue;
    }
    Acc delta = *args.delta.at(b, t, h);
    state.update(Acc(decayOf(rate, delta)), delta, args.x.at(b, t, h),
                 args.x.strides[3], args.B.at(b, t, g), args.B.strides[3]);
    state.read(args, b, t, h);
  }
  state.store(lastTwo(args.finalState, b, h));
}

template <typename T> const char *ssdScan(const Call &call) {
  using Acc = AccumulatorOf<T>;
  SsdScanArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory =
      scratch(Slot::Kernel, carved<Acc>(HeadState<T>::elements(args)));
  if (!memory)
    return outOfMemory("ssd_scan");
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t h = 0; h < args.h; ++h)
      scanHead(args, b, h, static_cast<Acc *>(memory));
  return nullptr;
}

template const char *ssdScan<float>(const Call &);
template const char *ssdScan<double>(const Call &);
template const char *ssdScan<BFloat16>(const Call &);

} // namespace cp::kernels::reference
