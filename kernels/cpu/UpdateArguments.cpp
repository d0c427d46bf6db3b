//===- UpdateArguments.cpp - What updates take ----------------------------===//
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
#define GET_READER_accumulate
#include "KernelReaders.inc"

namespace {
/// Reads tensors that all have the sizes of the first.
template <typename T> class ElementReader {
public:
  ElementReader(Arguments &in, ElementRuns &runs) : in(in), runs(runs) {}

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

protected:
  void add(const Buffer &buffer, const char *name, DType dtype) {
    in.expectType(buffer, name, dtype);
    if (in.error())
      return;
    if (!first)
      first = &buffer, firstName = name;
    in.expectSameSizes(buffer, name, *first, firstName, first->rank);
    if (!in.error())
      runs.add(buffer);
  }

  Arguments &in;

private:
  ElementRuns &runs;
  const Buffer *first = nullptr;
  const char *firstName = nullptr;
};

/// The same, and an update's scalars.
template <typename T> class UpdateReader : public ElementReader<T> {
  using ElementReader<T>::in;

public:
  UpdateReader(Arguments &in, UpdateArgs<T> &args)
      : ElementReader<T>(in, args.runs), args(args) {}

  void readParam() {
    args.param = this->input("param");
    args.grad = this->input("grad");
  }
  void readRate() { args.rate = in.template scalarInput<double>("rate"); }
  void readScale() { args.scale = in.template scalarInput<double>("scale"); }

  /// Behind `count` outputs there may be one more. The rounded parameters, or
  /// null.
  BFloat16 *rounded(const Call &call, size_t count) {
    if (in.error() || call.numOuts == count)
      return nullptr;
    const Buffer &buffer = in.anyOutput("rounded", 0);
    this->add(buffer, "rounded", DType::BF16);
    return static_cast<BFloat16 *>(buffer.data);
  }

  const char *finish() {
    if (in.error())
      return in.error();
    args.runs.finish();
    if (!in.isOnDevice() && !std::isfinite(*args.rate))
      return fail("%s: rate must be a number, got %g; give another one",
                  in.operation(), *args.rate);
    return nullptr;
  }

private:
  UpdateArgs<T> &args;
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
  args.step = in.scalarInput<int64_t>("step");
  reader.readScale();
  args.updated = reader.output("updated");
  args.expAvgOut = reader.output("exp_avg_out");
  args.expAvgSqOut = reader.output("exp_avg_sq_out");
  args.rounded = reader.rounded(call, 3);
  if (const char *wrong = reader.finish())
    return wrong;
  if (!in.isOnDevice() && *args.step < 1)
    return fail(
        "adamw: step must be at least 1, the first one, got %lld; count "
        "the steps from 1",
        static_cast<long long>(*args.step));
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, AccumulateArgs<T> &args) {
  Arguments in(call, "accumulate");
  AccumulateAttributes attributes;
  read(in, attributes);
  ElementReader<T> reader(in, args.runs);
  args.grad = reader.input("grad");
  args.sum = reader.input("sum");
  args.microBatch = in.scalarInput<int64_t>("micro_batch");
  args.updated = reader.output("updated");
  if (in.error())
    return in.error();
  args.runs.finish();
  return nullptr;
}

template const char *decode(const Call &, SquaredNormArgs<float> &);
template const char *decode(const Call &, SquaredNormArgs<double> &);
template const char *decode(const Call &, SquaredNormArgs<BFloat16> &);
template const char *decode(const Call &, SgdArgs<float> &);
template const char *decode(const Call &, SgdArgs<double> &);
template const char *decode(const Call &, AdamwArgs<float> &);
template const char *decode(const Call &, AdamwArgs<double> &);
template const char *decode(const Call &, AccumulateArgs<float> &);
template const char *decode(const Call &, AccumulateArgs<double> &);

} // namespace cp::kernels
