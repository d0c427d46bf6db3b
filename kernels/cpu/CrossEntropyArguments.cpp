//===- CrossEntropyArguments.cpp - Decoding of linear_cross_entropy -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

#include <type_traits>

namespace cp::kernels {

#define GET_READER_linear_cross_entropy
#define GET_READER_linear_cross_entropy_grad
#include "KernelReaders.inc"

namespace {
/// Reads what the loss and its adjoint have in common.
class HeadReader {
public:
  explicit HeadReader(Arguments &in) : in(in) {}

  /// The first three inputs. Null, or what is wrong with the labels.
  template <typename Args> const char *readHead(Args &args) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(args.h.data)>>;
    args.h = in.input<T>("h", {&b, &l, &d});
    args.weight = in.input<T>("weight", {&v, &d});
    in.expectAtLeast(v, 1);
    const Buffer &labels = in.anyInput("labels", 2);
    if (in.error())
      return in.error();
    if (labels.rank != 2 ||
        (labels.dtype != DType::I32 && labels.dtype != DType::I64))
      return fail("%s: labels must be i32 or i64 and have rank 2, got %s and "
                  "rank %d",
                  in.operation(), dtypeName(labels.dtype), labels.rank);
    in.expectSize(labels, "labels", 0, b);
    in.expectSize(labels, "labels", 1, l);
    args.labels = {labels.data,
                   labels.dtype == DType::I64,
                   {labels.strides[0], labels.strides[1]}};
    return in.error();
  }

  /// The sizes, when all tensors are read; null, or the first misfit.
  template <typename Args> const char *finish(Args &args) {
    args.b = b.size;
    args.l = l.size;
    args.d = d.size;
    args.v = v.size;
    return in.error() ? in.error() : checkLabels(args);
  }

  Dim b = {"b"}, l = {"l"}, d = {"d"}, v = {"v"};

private:
  /// A label is a row of the weight, or ignored.
  template <typename Args> const char *checkLabels(const Args &args) const {
    for (int64_t row = 0; row < args.b; ++row)
      for (int64_t token = 0; token < args.l; ++token) {
        int64_t label = args.labels.at(row, token);
        if (label != args.ignoreIndex && (label < 0 || label >= args.v))
          return fail("%s: label %lld of token %lld of row %lld must be in [0, "
                      "%lld), the rows of the weight, or ignore_index = %lld",
                      in.operation(), static_cast<long long>(label),
                      static_cast<long long>(token),
                      static_cast<long long>(row),
                      static_cast<long long>(args.v),
                      static_cast<long long>(args.ignoreIndex));
      }
    return nullptr;
  }

  Arguments &in;
};

} // namespace

template <typename T>
const char *decode(const Call &call, LinearCrossEntropyArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "linear_cross_entropy");
  LinearCrossEntropyAttributes attributes;
  read(in, attributes);
  HeadReader reader(in);
  if (const char *message = reader.readHead(args))
    return message;
  args.losses = in.output<Acc>("losses", {&reader.b, &reader.l});
  args.lse = in.output<Acc>("lse", {&reader.b, &reader.l});
  args.ignoreIndex = attributes.ignoreIndex;
  return reader.finish(args);
}

template <typename T>
const char *decode(const Call &call, LinearCrossEntropyGradArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "linear_cross_entropy_grad");
  LinearCrossEntropyGradAttributes attributes;
  read(in, attributes);
  HeadReader reader(in);
  if (const char *message = reader.readHead(args))
    return message;
  args.lse = in.input<Acc>("lse", {&reader.b, &reader.l});
  args.dloss = in.input<Acc>("dloss", {&reader.b, &reader.l});
  args.dlse = in.optionalInput<Acc>("dlse", {&reader.b, &reader.l});
  args.dh = in.output<T>("dh", {&reader.b, &reader.l, &reader.d});
  args.dweight = in.output<Acc>("dweight", {&reader.v, &reader.d});
  args.ignoreIndex = attributes.ignoreIndex;
  return reader.finish(args);
}

template const char *decode(const Call &, LinearCrossEntropyArgs<float> &);
template const char *decode(const Call &, LinearCrossEntropyArgs<double> &);
template const char *decode(const Call &, LinearCrossEntropyArgs<BFloat16> &);

template const char *decode(const Call &, LinearCrossEntropyGradArgs<float> &);
template const char *decode(const Call &, LinearCrossEntropyGradArgs<double> &);
template const char *decode(const Call &,
                            LinearCrossEntropyGradArgs<BFloat16> &);

} // namespace cp::kernels
