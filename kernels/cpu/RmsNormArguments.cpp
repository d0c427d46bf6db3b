//===- RmsNormArguments.cpp - Decoding of rms_norm ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Rows.h"

namespace cp::kernels {

#define GET_READER_rms_norm
#define GET_READER_rms_norm_grad
#include "KernelReaders.inc"

namespace {
/// Reads the buffers of a norm or of its adjoint, which all have the sizes of
/// `x` but those that are per channel.
template <typename T> class NormReader {
public:
  explicit NormReader(Arguments &in) : in(in) {}

  /// The first input.
  void readX() {
    x = &in.anyInput("x", 1);
    in.expectType(*x, "x", Element<T>::dtype);
    in.expectSize(*x, "x", x->rank - 1, c);
  }
  const Buffer *input(const char *name) {
    return like(in.anyInput(name, 1), name);
  }
  const Buffer *output(const char *name) {
    return like(in.anyOutput(name, 1), name);
  }

  /// What an adjoint has of the attributes, sizes and rows of its norm.
  template <typename Attributes, typename Args>
  const char *finish(const Attributes &attributes, Args &args) {
    args.eps = attributes.eps;
    args.gateFirst = attributes.gateFirst;
    args.groups = attributes.groups;
    in.expectDivides(c, {"groups", args.groups});
    if (in.error())
      return in.error();
    if (args.eps < 0)
      return fail("%s: eps must not be negative, got %g", in.operation(),
                  args.eps);
    args.c = c.size;
    args.rows = numRows(*x);
    return nullptr;
  }

  Dim c = {"c"};
  const Buffer *x = nullptr;

private:
  const Buffer *like(const Buffer &buffer, const char *name) {
    in.expectType(buffer, name, Element<T>::dtype);
    in.expectSameSizes(buffer, name, *x, "x", x->rank);
    return &buffer;
  }

  Arguments &in;
};
} // namespace

template <typename T>
const char *decode(const Call &call, RmsNormBuffers<T> &args) {
  Arguments in(call, "rms_norm");
  RmsNormAttributes attributes;
  read(in, attributes);
  NormReader<T> reader(in);
  reader.readX();
  args.x = reader.x;
  args.weight = in.optionalInput<T>("weight", {&reader.c});
  args.gate = in.hasNext() ? reader.input("gate") : nullptr;
  args.y = reader.output("y");
  return reader.finish(attributes, args);
}

template <typename T>
const char *decode(const Call &call, RmsNormArgs<T> &args) {
  RmsNormBuffers<T> from;
  if (const char *wrong = decode(call, from))
    return wrong;
  static_cast<RmsNormShape<T> &>(args) = from;
  args.x = rowTensor<const T>(from.x, Slot::RowsIn);
  args.y = rowTensor<T>(from.y, Slot::RowsOut);
  args.gate = rowTensor<const T>(from.gate, Slot::RowsGate);
  if (!args.x.rows || !args.y.rows || (from.gate && !args.gate.rows))
    return outOfMemory("rms_norm");
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, RmsNormGradBuffers<T> &args) {
  Arguments in(call, "rms_norm_grad");
  RmsNormGradAttributes attributes;
  read(in, attributes);
  NormReader<T> reader(in);
  reader.readX();
  args.x = reader.x;
  args.dy = reader.input("dy");
  args.weight = in.optionalInput<T>("weight", {&reader.c});
  const Buffer *gate = in.hasNext() ? reader.input("gate") : nullptr;
  args.gate = gate;
  args.dx = reader.output("dx");
  args.dweight = in.output<AccumulatorOf<T>>("dweight", {&reader.c});
  if (!in.error() && call.numOuts != (gate ? 3 : 2))
    return fail("rms_norm_grad: expected %s dgate beside %s gate, got %zu "
                "outputs",
                gate ? "a" : "no", gate ? "a" : "no", call.numOuts);
  args.dgate = gate ? reader.output("dgate") : nullptr;
  return reader.finish(attributes, args);
}

template <typename T>
const char *decode(const Call &call, RmsNormGradArgs<T> &args) {
  RmsNormGradBuffers<T> from;
  if (const char *wrong = decode(call, from))
    return wrong;
  static_cast<RmsNormGradShape<T> &>(args) = from;
  args.x = rowTensor<const T>(from.x, Slot::RowsIn);
  args.dy = rowTensor<const T>(from.dy, Slot::RowsCotangent);
  args.gate = rowTensor<const T>(from.gate, Slot::RowsGate);
  args.dx = rowTensor<T>(from.dx, Slot::RowsOut);
  args.dgate = rowTensor<T>(from.dgate, Slot::RowsGateOut);
  if (!args.x.rows || !args.dy.rows || !args.dx.rows ||
      (from.gate && (!args.gate.rows || !args.dgate.rows)))
    return outOfMemory("rms_norm_grad");
  return nullptr;
}

template const char *decode(const Call &, RmsNormBuffers<float> &);
template const char *decode(const Call &, RmsNormBuffers<double> &);
template const char *decode(const Call &, RmsNormBuffers<BFloat16> &);

template const char *decode(const Call &, RmsNormArgs<float> &);
template const char *decode(const Call &, RmsNormArgs<double> &);
template const char *decode(const Call &, RmsNormArgs<BFloat16> &);

template const char *decode(const Call &, RmsNormGradBuffers<float> &);
template const char *decode(const Call &, RmsNormGradBuffers<double> &);
template const char *decode(const Call &, RmsNormGradBuffers<BFloat16> &);

template const char *decode(const Call &, RmsNormGradArgs<float> &);
template const char *decode(const Call &, RmsNormGradArgs<double> &);
template const char *decode(const Call &, RmsNormGradArgs<BFloat16> &);

} // namespace cp::kernels
