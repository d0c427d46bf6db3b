//===- SsdArguments.cpp - Decoding of the scans ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

namespace {
/// The sizes that the buffers of a scan share.
struct SsdDims {
  Dim b = {"b"}, l = {"l"}, h = {"h"}, p = {"p"}, g = {"g"}, n = {"n"};

  /// The number of chunks, known once `l` is.
  Dim chunks(int64_t chunk) const {
    return {"ceil(l / chunk_size)", ceilDiv(l.size, chunk), "x"};
  }
  void store(SsdSizes &sizes) const {
    sizes.b = b.size;
    sizes.l = l.size;
    sizes.h = h.size;
    sizes.p = p.size;
    sizes.g = g.size;
    sizes.n = n.size;
  }
};
} // namespace

/// Attributes `first` and `first + 1`.
template <typename T>
static void readLimits(Arguments &in, size_t first, StepArgs<T> &step) {
  step.dtMax = in.real(first, "dt_max");
  step.dtMin = in.real(first + 1, "dt_min");
}

/// `D` as [h, p] or, broadcast over p, as [h].
template <typename T>
static View<const T, 2> readD(Arguments &in, SsdDims &dims) {
  if (in.nextRank() != 1)
    return in.input<T>("D", {&dims.h, &dims.p});
  View<const T, 1> perHead = in.input<T>("D", {&dims.h});
  return {perHead.data, {perHead.strides[0], 0}};
}

/// What still has to hold once all buffers are read.
template <typename T>
static const char *finish(Arguments &in, const SsdDims &dims,
                          const StepArgs<T> *step, SsdSizes &sizes) {
  in.expectDivides(dims.h, dims.g);
  if (in.error())
    return in.error();
  if (step && step->dtMin > step->dtMax)
    return fail("%s: dt_min = %g must not be above dt_max = %g", in.operation(),
                step->dtMin, step->dtMax);
  dims.store(sizes);
  return nullptr;
}

template <typename T> const char *decode(const Call &call, SsdArgs<T> &args) {
  Arguments in(call, "ssd");
  in.expectAttributes(6);
  args.chunk = in.positive(0, "chunk_size");
  readLimits(in, 1, args.step);
  bool hasD = in.flag(3, "has_D");
  bool hasBias = in.flag(4, "has_dt_bias");
  bool hasInitial = in.flag(5, "has_initial");
  in.expectBuffers(size_t(5) + hasD + hasBias + hasInitial, 2);

  SsdDims d;
  args.x = in.input<T>("x", {&d.b, &d.l, &d.h, &d.p});
  args.step.dt = in.input<T>("dt", {&d.b, &d.l, &d.h});
  args.step.aLog = in.input<T>("A_log", {&d.h});
  args.B = in.input<T>("B", {&d.b, &d.l, &d.g, &d.n});
  args.C = in.input<T>("C", {&d.b, &d.l, &d.g, &d.n});
  if (hasD)
    args.D = readD<T>(in, d);
  if (hasBias)
    args.step.bias = in.input<T>("dt_bias", {&d.h});
  if (hasInitial)
    args.initial = in.input<T>("initial", {&d.b, &d.h, &d.p, &d.n});
  args.y = in.output<T>("y", {&d.b, &d.l, &d.h, &d.p});
  args.finalState = in.output<T>("final_state", {&d.b, &d.h, &d.p, &d.n});
  return finish(in, d, &args.step, args);
}

template <typename T>
const char *decode(const Call &call, SsdStatesArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "ssd_states");
  in.expectAttributes(4);
  args.chunk = in.positive(0, "chunk_size");
  readLimits(in, 1, args.step);
  bool hasBias = in.flag(3, "has_dt_bias");
  in.expectBuffers(size_t(4) + hasBias, 4);
  if (in.error())
    return in.error();

  SsdDims d;
  args.x = in.input<T>("x", {&d.b, &d.l, &d.h, &d.p});
  args.step.dt = in.input<T>("dt", {&d.b, &d.l, &d.h});
  args.step.aLog = in.input<T>("A_log", {&d.h});
  args.B = in.input<T>("B", {&d.b, &d.l, &d.g, &d.n});
  if (hasBias)
    args.step.bias = in.input<T>("dt_bias", {&d.h});
  Dim chunks = d.chunks(args.chunk);
  args.decay = in.output<Acc>("decay", {&d.b, &d.h});
  args.state = in.output<Acc>("state", {&d.b, &d.h, &d.p, &d.n});
  args.chunkStates =
      in.output<Acc>("chunk_states", {&d.b, &chunks, &d.h, &d.p, &d.n});
  args.delta = in.output<Acc>("delta", {&d.b, &d.l, &d.h});
  return finish(in, d, &args.step, args);
}

template <typename T>
const char *decode(const Call &call, SsdScanArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "ssd_scan");
  in.expectAttributes(3);
  args.chunk = in.positive(0, "chunk_size");
  bool hasD = in.flag(1, "has_D");
  bool hasInitial = in.flag(2, "has_initial");
  in.expectBuffers(size_t(8) + hasD + hasInitial, 2);
  if (in.error())
    return in.error();

  SsdDims d;
  args.x = in.input<T>("x", {&d.b, &d.l, &d.h, &d.p});
  args.aLog = in.input<T>("A_log", {&d.h});
  args.B = in.input<T>("B", {&d.b, &d.l, &d.g, &d.n});
  args.C = in.input<T>("C", {&d.b, &d.l, &d.g, &d.n});
  if (hasD)
    args.D = readD<T>(in, d);
  Dim chunks = d.chunks(args.chunk);
  args.chunkStates =
      in.input<Acc>("chunk_states", {&d.b, &chunks, &d.h, &d.p, &d.n});
  args.delta = in.input<Acc>("delta", {&d.b, &d.l, &d.h});
  args.prefixDecay = in.input<Acc>("prefix_decay", {&d.b, &d.h});
  args.prefixState = in.input<Acc>("prefix_state", {&d.b, &d.h, &d.p, &d.n});
  if (hasInitial)
    args.initial = in.input<Acc>("initial", {&d.b, &d.h, &d.p, &d.n});
  args.y = in.output<T>("y", {&d.b, &d.l, &d.h, &d.p});
  args.finalState = in.output<Acc>("final_state", {&d.b, &d.h, &d.p, &d.n});
  return finish<T>(in, d, nullptr, args);
}

template const char *decode(const Call &, SsdArgs<float> &);
template const char *decode(const Call &, SsdArgs<double> &);
template const char *decode(const Call &, SsdArgs<BFloat16> &);
template const char *decode(const Call &, SsdStatesArgs<float> &);
template const char *decode(const Call &, SsdStatesArgs<double> &);
template const char *decode(const Call &, SsdStatesArgs<BFloat16> &);
template const char *decode(const Call &, SsdScanArgs<float> &);
template const char *decode(const Call &, SsdScanArgs<double> &);
template const char *decode(const Call &, SsdScanArgs<BFloat16> &);

} // namespace cp::kernels
