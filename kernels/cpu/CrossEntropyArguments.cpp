//===- CrossEntropyArguments.cpp - Decoding of linear_cross_entropy -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

#define GET_READER_linear_cross_entropy
#define GET_READER_linear_cross_entropy_grad
#include "KernelReaders.inc"

namespace {
/// Reads what the loss and its adjoint have in common.
class HeadReader {
public:
  HeadReader(Arguments &in, int64_t vocabulary)
      : in(in), vocabulary(vocabulary) {}

  /// The first four inputs. Null, or what is wrong with the labels.
  template <typename T> const char *readHead(HeadArgs<T> &args) {
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
    isSliced = in.hasNext();
    args.starts = in.optionalInput<int64_t>("rows", {&s});
    if (isSliced)
      in.expectDivides(v, s);
    return in.error();
  }

  /// Numbers of each token and slice.
  template <typename Acc> View<const Acc, 3> ofTokens(const char *name) {
    return isSliced ? in.input<Acc>(name, {&b, &l, &s})
                    : Arguments::spread(in.input<Acc>(name, {&b, &l}), 2);
  }
  template <typename Acc> View<Acc, 3> outOfTokens(const char *name) {
    return isSliced ? in.output<Acc>(name, {&b, &l, &s})
                    : Arguments::spread(in.output<Acc>(name, {&b, &l}), 2);
  }

  /// The sizes, when all tensors are read; null, or the first misfit.
  template <typename T>
  const char *finish(HeadArgs<T> &args, int64_t ignoreIndex) {
    args.b = b.size;
    args.l = l.size;
    args.d = d.size;
    args.v = v.size;
    args.slices = isSliced ? s.size : 1;
    args.ignoreIndex = ignoreIndex;
    if (in.error())
      return in.error();
    args.vocabulary = isSliced ? vocabulary : args.v;
    if (in.isOnDevice())
      return nullptr;
    if (isSliced)
      if (const char *message = checkSlices(args))
        return message;
    return checkLabels(args);
  }

  Dim b = {"b"}, l = {"l"}, d = {"d"}, v = {"v"}, s = {"s"};

private:
  template <typename T> const char *checkSlices(const HeadArgs<T> &args) const {
    for (int64_t i = 0; i < args.slices; ++i) {
      int64_t start = *args.starts.at(i);
      if (start < 0 || start > vocabulary - args.sliceRows())
        return fail("%s: slice %lld of %lld rows starts at row %lld, and must "
                    "lie in [0, %lld), the vocabulary",
                    in.operation(), static_cast<long long>(i),
                    static_cast<long long>(args.sliceRows()),
                    static_cast<long long>(start),
                    static_cast<long long>(vocabulary));
    }
    return nullptr;
  }

  /// A label is a row of the vocabulary, or ignored.
  template <typename T> const char *checkLabels(const HeadArgs<T> &args) const {
    for (int64_t row = 0; row < args.b; ++row)
      for (int64_t token = 0; token < args.l; ++token) {
        int64_t label = args.labels.at(row, token);
        if (label != args.ignoreIndex &&
            (label < 0 || label >= args.vocabulary))
          return fail("%s: label %lld of token %lld of row %lld must be in [0, "
                      "%lld), the rows of the weight, or ignore_index = %lld",
                      in.operation(), static_cast<long long>(label),
                      static_cast<long long>(token),
                      static_cast<long long>(row),
                      static_cast<long long>(args.vocabulary),
                      static_cast<long long>(args.ignoreIndex));
      }
    return nullptr;
  }

  Arguments &in;
  /// All rows of which the weight may be slices.
  int64_t vocabulary;
  bool isSliced = false;
};

} // namespace

template <typename T>
const char *decode(const Call &call, LinearCrossEntropyArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "linear_cross_entropy");
  LinearCrossEntropyAttributes attributes;
  read(in, attributes);
  HeadReader reader(in, attributes.vocabulary);
  if (const char *message = reader.readHead(args))
    return message;
  args.losses = reader.outOfTokens<Acc>("losses");
  args.lse = reader.outOfTokens<Acc>("lse");
  return reader.finish(args, attributes.ignoreIndex);
}

template <typename T>
const char *decode(const Call &call, LinearCrossEntropyGradArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "linear_cross_entropy_grad");
  LinearCrossEntropyGradAttributes attributes;
  read(in, attributes);
  HeadReader reader(in, attributes.vocabulary);
  if (const char *message = reader.readHead(args))
    return message;
  args.lse = reader.ofTokens<Acc>("lse");
  args.dloss = reader.ofTokens<Acc>("dloss");
  if (in.hasNext())
    args.dlse = reader.ofTokens<Acc>("dlse");
  args.dh = in.output<T>("dh", {&reader.b, &reader.l, &reader.d});
  args.dweight = in.output<Acc>("dweight", {&reader.v, &reader.d});
  return reader.finish(args, attributes.ignoreIndex);
}

template const char *decode(const Call &, LinearCrossEntropyArgs<float> &);
template const char *decode(const Call &, LinearCrossEntropyArgs<double> &);
template const char *decode(const Call &, LinearCrossEntropyArgs<BFloat16> &);

template const char *decode(const Call &, LinearCrossEntropyGradArgs<float> &);
template const char *decode(const Call &, LinearCrossEntropyGradArgs<double> &);
template const char *decode(const Call &,
                            LinearCrossEntropyGradArgs<BFloat16> &);

} // namespace cp::kernels
