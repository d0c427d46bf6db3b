//===- UpdateArguments.cpp - Decoding of squared_norm, sgd and adamw ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

#include <cmath>

namespace cp::kernels {

#define GET_READER_squared_norm
#define GET_READER_sgd
#define GET_READER_adamw
#include "KernelReaders.inc"

namespace {
/// Reads an update's tensors, which all have the sizes of the first, and its
/// scalars.
template <typename T> class UpdateReader {
public:
  UpdateReader(Arguments &in, UpdateArgs<T> &args) : in(in), args(args) {}

  const T *input(const char *name) {
    const Buffer &buffer = in.anyInput(name, 0);
    add(buffer, name, Element<T>::dtype);
    return static_cast<const T *>(buffer.data);
  }
  T *output(const char *name) {
    const Buffer &buffer = in.anyOutput(name, 0);
    add(buffer, name, Element<T>::dtype);
    return static_cast<T *>(buffer.data);
  }

  void readParam() {
    args.param = input("param");
    args.grad = input("grad");
  }
  void readRate() { rate = in.scalarInput<double>("rate"); }
  void readScale() { scale = in.scalarInput<double>("scale"); }

  /// Behind `count` outputs there may be one more. The rounded parameters, or
  /// null.
  BFloat16 *rounded(const Call &call, size_t count) {
    if (in.error() || call.numOuts == count)
      return nullptr;
    const Buffer &buffer = in.anyOutput("rounded", 0);
    add(buffer, "rounded", DType::BF16);
    return static_cast<BFloat16 *>(buffer.data);
  }

  const char *finish() {
    if (in.error())
      return in.error();
    args.rate = *rate;
    args.scale = *scale;
    args.runs.finish();
    if (!std::isfinite(args.rate))
      return fail("%s: rate must be a number, got %g; give another one",
                  in.operation(), args.rate);
    return nullptr;
  }

private:
  void add(const Buffer &buffer, const char *name, DType dtype) {
    in.expectType(buffer, name, dtype);
    if (in.error())
      return;
    if (!first)
      first = &buffer;
    in.expectSameSizes(buffer, name, *first, "param", first->rank);
    if (!in.error())
      args.runs.add(buffer);
  }

  Arguments &in;
  UpdateArgs<T> &args;
  const Buffer *first = nullptr;
  const double *rate = nullptr, *scale = nullptr;
};

} // namespace

template <typename T>
const char *decode(const Call &call, SquaredNormArgs<T> &args) {
  Arguments in(call, "squared_norm");
  SquaredNormAttributes attributes;
  read(in, attributes);
  const Buffer &x = in.anyInput("x", 0);
  in.expectType(x, "x", Element<T>::dtype);
  args.sum = in.scalarOutput<double>("sum");
  if (in.error())
    return in.error();
  args.x = static_cast<const T *>(x.data);
  args.runs.add(x);
  args.runs.finish();
  return nullptr;
}

template <typename T> const char *decode(const Call &call, SgdArgs<T> &args) {
  Arguments in(call, "sgd");
  SgdAttributes attributes;
  read(in, attributes);
  args.weightDecay = attributes.weightDecay;
  UpdateReader<T> reader(in, args);
  reader.readParam();
  reader.readRate();
  reader.readScale();
  args.updated = reader.output("updated");
  args.rounded = reader.rounded(call, 1);
  return reader.finish();
}

template <typename T> const char *decode(const Call &call, AdamwArgs<T> &args) {
  Arguments in(call, "adamw");
  AdamwAttributes attributes;
  read(in, attributes);
  args.beta1 = attributes.beta1;
  args.beta2 = attributes.beta2;
  args.eps = attributes.eps;
  args.weightDecay = attributes.weightDecay;
  UpdateReader<T> reader(in, args);
  reader.readParam();
  args.expAvg = reader.input("exp_avg");
  args.expAvgSq = reader.input("exp_avg_sq");
  reader.readRate();
  const int64_t *step = in.scalarInput<int64_t>("step");
  reader.readScale();
  args.updated = reader.output("updated");
  args.expAvgOut = reader.output("exp_avg_out");
  args.expAvgSqOut = reader.output("exp_avg_sq_out");
  args.rounded = reader.rounded(call, 3);
  if (const char *wrong = reader.finish())
    return wrong;
  args.step = *step;
  if (args.step < 1)
    return fail(
        "adamw: step must be at least 1, the first one, got %lld; count "
        "the steps from 1",
        static_cast<long long>(args.step));
  return nullptr;
}

template const char *decode(const Call &, SquaredNormArgs<float> &);
template const char *decode(const Call &, SquaredNormArgs<double> &);
template const char *decode(const Call &, SquaredNormArgs<BFloat16> &);
template const char *decode(const Call &, SgdArgs<float> &);
template const char *decode(const Call &, SgdArgs<double> &);
template const char *decode(const Call &, AdamwArgs<float> &);
template const char *decode(const Call &, AdamwArgs<double> &);

} // namespace cp::kernels
