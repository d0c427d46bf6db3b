//===- reference/SsdGradStates.cpp - A scan's cotangent at its start ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "reference/Recurrence.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

namespace {
/// The state's cotangent of one head, in place in the output.
template <typename T> class Cotangent {
public:
  using Acc = AccumulatorOf<T>;

  Cotangent(const SsdGradStatesArgs<T> &args, int64_t b, int64_t h)
      : args(args), b(b), h(h), g(h / args.headsPerGroup()),
        rate(decayRate(double(Acc(*args.step.aLog.at(h))))) {}

  void run() {
    forEach([](Acc &value, int64_t, int64_t) { value = Acc(0); });
    for (int64_t t = args.l - 1; t >= 0; --t)
      pass(t);
  }

private:
  /// From behind token t to in front of it.
  void pass(int64_t t) {
    int64_t place = args.places.data ? *args.places.at(b, t) : 1;
    if (place < 0)
      return;
    // Nothing goes back over the start of a sequence.
    if (place == 0)
      return forEach([](Acc &value, int64_t, int64_t) { value = Acc(0); });
    Acc decay = Acc(decayOf(rate, stepSize(args.step, b, t, h)));
    forEach([&](Acc &value, int64_t i, int64_t j) {
      Acc read = Acc(*args.dy.at(b, t, h, i)) * Acc(*args.C.at(b, t, g, j));
      value = decay * (value + read);
    });
  }

  template <typename Body> void forEach(Body body) const {
    for (int64_t i = 0; i < args.p; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        body(*args.dstate.at(b, h, i, j), i, j);
  }

  const SsdGradStatesArgs<T> &args;
  int64_t b, h, g;
  double rate;
};
} // namespace

template <typename T> const char *ssdGradStates(const Call &call) {
  SsdGradStatesArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t b = 0; b < args.b; ++b)
    for (int64_t h = 0; h < args.h; ++h)
      Cotangent<T>(args, b, h).run();
  return nullptr;
}

template const char *ssdGradStates<float>(const Call &);
template const char *ssdGradStates<double>(const Call &);
template const char *ssdGradStates<BFloat16>(const Call &);

} // namespace cp::kernels::reference
