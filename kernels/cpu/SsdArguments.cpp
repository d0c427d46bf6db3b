//===- SsdArguments.cpp - Decoding of the scans ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

#define GET_READER_ssd
#define GET_READER_ssd_grad
#define GET_READER_ssd_grad_states
#define GET_READER_ssd_states
#define GET_READER_ssd_scan
#include "KernelReaders.inc"

/// What sizes and attributes have to be like beside each other, and that places
/// count.
template <typename CallOf>
static const char *finish(Arguments &in, const CallOf &read, SsdSizes &sizes) {
  if (in.error())
    return in.error();
  in.expectDivides({"h", read.h}, {"g", read.g});
  if (in.error())
    return in.error();
  sizes = {read.b, read.l, read.h, read.p, read.g, read.n, read.chunkSize};
  return in.isOnDevice()
             ? nullptr
             : checkPlaces(in.operation(), read.places, read.b, read.l);
}

template <typename CallOf, typename T>
static const char *finishSteps(Arguments &in, const CallOf &read,
                               StepArgs<T> &step) {
  if (read.dtMin > read.dtMax)
    return fail("%s: dt_min = %g must not be above dt_max = %g", in.operation(),
                read.dtMin, read.dtMax);
  step = {read.dtMax, read.dtMin, read.dt, read.aLog, read.dtBias};
  return nullptr;
}

template <typename T> const char *decode(const Call &call, SsdArgs<T> &args) {
  Arguments in(call, "ssd");
  SsdCall<T> from;
  read(in, from);
  if (const char *wrong = finish(in, from, args))
    return wrong;
  args.x = from.x;
  args.B = from.B;
  args.C = from.C;
  args.D = from.D;
  args.initial = from.initial;
  args.y = from.y;
  args.finalState = from.finalState;
  args.places = from.places;
  return finishSteps(in, from, args.step);
}

template <typename T>
const char *decode(const Call &call, SsdGradArgs<T> &args) {
  Arguments in(call, "ssd_grad");
  SsdGradCall<T> from;
  read(in, from);
  if (const char *wrong = finish(in, from, args))
    return wrong;
  args.x = from.x;
  args.B = from.B;
  args.C = from.C;
  args.dy = from.dy;
  args.D = from.D;
  args.initial = from.initial;
  args.dstate = from.dstate;
  args.places = from.places;
  args.dx = from.dx;
  args.dB = from.dB;
  args.dC = from.dC;
  args.ddt = from.ddt;
  args.dALog = from.dALog;
  args.dDtBias = from.ddtBias;
  args.dD = from.dD;
  args.dinitial = from.dinitial;
  return finishSteps(in, from, args.step);
}

template <typename T>
const char *decode(const Call &call, SsdGradStatesArgs<T> &args) {
  Arguments in(call, "ssd_grad_states");
  SsdGradStatesCall<T> from;
  read(in, from);
  if (const char *wrong = finish(in, from, args))
    return wrong;
  args.dy = from.dy;
  args.C = from.C;
  args.places = from.places;
  args.dstate = from.dstate;
  return finishSteps(in, from, args.step);
}

template <typename T>
const char *decode(const Call &call, SsdStatesArgs<T> &args) {
  Arguments in(call, "ssd_states");
  SsdStatesCall<T> from;
  read(in, from);
  if (const char *wrong = finish(in, from, args))
    return wrong;
  args.x = from.x;
  args.B = from.B;
  args.decay = from.decay;
  args.state = from.state;
  args.chunkStates = from.chunkStates;
  args.delta = from.delta;
  args.places = from.places;
  return finishSteps(in, from, args.step);
}

template <typename T>
const char *decode(const Call &call, SsdScanArgs<T> &args) {
  Arguments in(call, "ssd_scan");
  SsdScanCall<T> from;
  read(in, from);
  if (const char *wrong = finish(in, from, args))
    return wrong;
  args.aLog = from.aLog;
  args.x = from.x;
  args.B = from.B;
  args.C = from.C;
  args.D = from.D;
  args.chunkStates = from.chunkStates;
  args.delta = from.delta;
  args.prefixDecay = from.prefixDecay;
  args.prefixState = from.prefixState;
  args.initial = from.initial;
  args.places = from.places;
  args.y = from.y;
  args.finalState = from.finalState;
  return nullptr;
}

template const char *decode(const Call &, SsdArgs<float> &);
template const char *decode(const Call &, SsdArgs<double> &);
template const char *decode(const Call &, SsdArgs<BFloat16> &);
template const char *decode(const Call &, SsdGradArgs<float> &);
template const char *decode(const Call &, SsdGradArgs<double> &);
template const char *decode(const Call &, SsdGradArgs<BFloat16> &);
template const char *decode(const Call &, SsdGradStatesArgs<float> &);
template const char *decode(const Call &, SsdGradStatesArgs<double> &);
template const char *decode(const Call &, SsdGradStatesArgs<BFloat16> &);
template const char *decode(const Call &, SsdStatesArgs<float> &);
template const char *decode(const Call &, SsdStatesArgs<double> &);
template const char *decode(const Call &, SsdStatesArgs<BFloat16> &);
template const char *decode(const Call &, SsdScanArgs<float> &);
template const char *decode(const Call &, SsdScanArgs<double> &);
template const char *decode(const Call &, SsdScanArgs<BFloat16> &);

} // namespace cp::kernels
