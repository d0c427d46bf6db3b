//===- reference/Update.cpp - Steps of optimizers -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "reference/Reference.h"

#include <cmath>

namespace cp::kernels::reference {

namespace {
/// Calls fn(offsets), where offsets[i] is tensor i's of an element.
template <typename Fn> void forEach(const ElementRuns &runs, Fn fn) {
  for (int64_t run = 0; run < runs.count(); ++run)
    for (int64_t at = 0; at < runs.length(); ++at)
      fn([&](int tensor) {
        return runs.offset(tensor, run) + at * runs.stride(tensor);
      });
}
} // namespace

const char *sum(const Call &call) {
  Arguments in(call, "sum");
  in.expectAttributes(0);
  double *result = in.scalarOutput<double>("sum");
  double total = 0;
  for (size_t i = 0; i < call.numIns && !in.error(); ++i)
    if (const double *term = in.scalarInput<double>("a term"))
      total += *term;
  if (in.error())
    return in.error();
  *result = total;
  return nullptr;
}

template <typename T> const char *squaredNorm(const Call &call) {
  SquaredNormArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  double sum = 0;
  forEach(args.runs, [&](auto offset) {
    auto x = double(AccumulatorOf<T>(args.x[offset(0)]));
    sum += x * x;
  });
  *args.sum = sum;
  return nullptr;
}

template <typename T> const char *sgd(const Call &call) {
  SgdArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  bool isStep = !std::isnan(*args.scale);
  forEach(args.runs, [&](auto offset) {
    T param = args.param[offset(0)];
    if (isStep)
      param -= T(*args.rate) * (T(*args.scale) * args.grad[offset(1)] +
                                T(args.weightDecay) * param);
    args.updated[offset(2)] = param;
    if (args.rounded)
      args.rounded[offset(3)] = BFloat16(float(param));
  });
  return nullptr;
}

template <typename T> const char *adamw(const Call &call) {
  AdamwArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  bool isStep = !std::isnan(*args.scale);
  auto step = double(*args.step);
  double rate = *args.rate / (1 - std::pow(args.beta1, step)),
         bias = 1 - std::pow(args.beta2, step);
  forEach(args.runs, [&](auto offset) {
    T param = args.param[offset(0)], m = args.expAvg[offset(2)],
      v = args.expAvgSq[offset(3)];
    if (isStep) {
      T g = T(*args.scale) * args.grad[offset(1)];
      m = T(args.beta1) * m + T(1 - args.beta1) * g;
      v = T(args.beta2) * v + T(1 - args.beta2) * g * g;
      T below = std::sqrt(v / T(bias)) + T(args.eps);
      param =
          T(1 - *args.rate * args.weightDecay) * param - T(rate) * m / below;
    }
    args.updated[offset(4)] = param;
    args.expAvgOut[offset(5)] = m;
    args.expAvgSqOut[offset(6)] = v;
    if (args.rounded)
      args.rounded[offset(7)] = BFloat16(float(param));
  });
  return nullptr;
}

template <typename T> const char *accumulate(const Call &call) {
  AccumulateArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  bool isFirst = *args.microBatch == 0;
  forEach(args.runs, [&](auto offset) {
    T grad = args.grad[offset(0)];
    args.updated[offset(2)] = isFirst ? grad : args.sum[offset(1)] + grad;
  });
  return nullptr;
}

template const char *squaredNorm<float>(const Call &);
template const char *squaredNorm<double>(const Call &);
template const char *squaredNorm<BFloat16>(const Call &);
template const char *sgd<float>(const Call &);
template const char *sgd<double>(const Call &);
template const char *adamw<float>(const Call &);
template const char *adamw<double>(const Call &);
template const char *accumulate<float>(const Call &);
template const char *accumulate<double>(const Call &);

} // namespace cp::kernels::reference
