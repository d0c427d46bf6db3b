//===- CrossEntropy.cu - A loss and its adjoint on a card -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "OpArguments.h"
#include "Sums.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {

template <typename T>
CP_DEVICE int64_t labelAt(const HeadArgs<T> &args, int64_t b, int64_t l) {
  int64_t offset = b * args.labels.strides[0] + l * args.labels.strides[1];
  return args.labels.isWide
             ? static_cast<const int64_t *>(args.labels.data)[offset]
             : static_cast<const int32_t *>(args.labels.data)[offset];
}

/// The row of a slice that a label is, or -1.
template <typename T>
CP_DEVICE int64_t rowIn(const HeadArgs<T> &args, int64_t slice, int64_t label) {
  int64_t rows = args.v / args.slices;
  int64_t row = label - (args.starts.data ? *at(args.starts, slice) : 0);
  return row >= 0 && row < rows ? row : -1;
}

/// A block a slice of a token, from its logits: some tokens of one element of
/// the batch.
template <typename T> struct LossOfSlices {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  struct Shared {
    BlockSum<Acc, threads> sum;
    Acc tops[threads / warpSize];
  };

  LinearCrossEntropyArgs<T> args;
  int64_t b, first;
  const Acc *logits;
  int64_t *fault;

  CP_DEVICE void operator()() const {
    int64_t token = first + blockX(), slice = blockY();
    int64_t label = labelAt(args, b, token), rows = args.v / args.slices;
    Acc &loss = *at(args.losses, b, token, slice);
    Acc &lse = *at(args.lse, b, token, slice);
    bool isIgnored = label == args.ignoreIndex;
    if (isIgnored || label < 0 || label >= args.vocabulary) {
      if (thread())
        return;
      if (!isIgnored)
        noteFault(fault, Fault::Label, token, label);
      bool isFirst = !args.starts.data || *at(args.starts, slice) == 0;
      loss = 0;
      lse = isFirst ? Acc(0) : -Acc(__builtin_huge_val());
      return;
    }
    const Acc *begin = logits + int64_t(blockX()) * args.v + slice * rows;
    Acc top = begin[0], sum = 0;
    CP_UNROLL_FOUR
    for (int64_t i = thread(); i < rows; i += threads)
      top = begin[i] > top ? begin[i] : top;
    top = topOf(top);
    CP_UNROLL_FOUR
    for (int64_t i = thread(); i < rows; i += threads)
      sum += exponential(begin[i] - top);
    sum = top + logarithm(shared<Shared>().sum.of(sum));
    if (thread())
      return;
    int64_t row = rowIn(args, slice, label);
    loss = (args.starts.data ? Acc(0) : sum) - (row < 0 ? Acc(0) : begin[row]);
    lse = sum;
  }

private:
  CP_DEVICE static Acc topOf(Acc value) {
    auto max = [](Acc a, Acc b) { return a > b ? a : b; };
    for (int mask = warpSize / 2; mask; mask /= 2)
      value = max(value, shuffleXor(value, mask));
    Acc *tops = shared<Shared>().tops;
    if (lane() == 0)
      sharedStore(&tops[warp()], value);
    barrier();
    for (int i = 0; i < threads / warpSize; ++i)
      value = max(value, sharedLoad(&tops[i]));
    return value;
  }
};

/// A thread a logit, which becomes its cotangent; in two parts of T, the second
/// what the first rounded off, where T is narrower than sums.
template <typename T> struct CotangentOfLogits {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  LinearCrossEntropyGradArgs<T> args;
  int64_t b, first;
  Acc *logits;
  T *parts[2];

  CP_DEVICE void operator()() const {
    int64_t column = int64_t(blockX()) * threads + thread(), row = blockY();
    if (column >= args.v)
      return;
    int64_t token = first + row, rows = args.v / args.slices;
    int64_t slice = column / rows, label = labelAt(args, b, token);
    bool isSpared =
        label == args.ignoreIndex || label < 0 || label >= args.vocabulary;
    int64_t place = row * args.v + column;
    Acc value = 0;
    if (!isSpared) {
      Acc dloss = *at(args.dloss, b, token, slice);
      Acc dlse = args.dlse.data ? *at(args.dlse, b, token, slice) : Acc(0);
      // The loss of all of a vocabulary has lse in it.
      if (!args.starts.data)
        dlse += dloss;
      value =
          exponential(logits[place] - *at(args.lse, b, token, slice)) * dlse;
      if (column % rows == rowIn(args, slice, label))
        value -= dloss;
    }
    if constexpr (sizeof(T) == sizeof(Acc)) {
      logits[place] = value;
    } else {
      T rounded = narrowed<T>(value);
      parts[0][place] = rounded;
      parts[1][place] = narrowed<T>(value - widened(rounded));
    }
  }
};

/// A thread a number of a cotangent that is summed up, rounded to T.
template <typename T> struct RoundRows {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  const Acc *sums;
  View<T, 3> to;
  int64_t b, first, rows, columns;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    if (element < rows * columns)
      *at(to, b, first + element / columns, element % columns) =
          narrowed<T>(sums[element]);
  }
};

/// A matrix with any strides; transposed(), as it is read by columns.
struct MatrixOf {
  void *data;
  DType dtype;
  int64_t sizes[2], strides[2];

  MatrixOf(const void *data, DType dtype, int64_t rows, int64_t columns,
           int64_t rowStride, int64_t columnStride)
      : data(const_cast<void *>(data)), dtype(dtype), sizes{rows, columns},
        strides{rowStride, columnStride} {}
  MatrixOf transposed() const {
    return {data, dtype, sizes[1], sizes[0], strides[1], strides[0]};
  }
  Buffer buffer() const { return {data, dtype, 2, sizes, strides}; }
};

/// c (+)= a^T b, in the type of sums.
template <typename T>
const char *contract(const MatrixOf &a, const MatrixOf &b, const MatrixOf &c,
                     bool accumulate) {
  Buffer ins[] = {a.buffer(), b.buffer()}, outs[] = {c.buffer()};
  int64_t attributes[] = {accumulate};
  return multiply("contract_rows", Element<T>::dtype,
                  onDevice({ins, 2, outs, 1, attributes, 1}));
}

/// What a loss and its adjoint do with some tokens at a time, whose logits find
/// room.
template <typename T> class HeadRun {
public:
  using Acc = AccumulatorOf<T>;

  HeadRun(const char *op, const HeadArgs<T> &head, void *stream)
      : op(op), stream(stream), workspace(stream), head(head),
        most(std::min(
            {std::max<int64_t>(mostLogits / head.v, 1), head.l, mostRows})) {}

  /// False where there is no memory left.
  bool allocate() {
    logits = allocateOf<Acc>(most * head.v);
    return logits;
  }
  template <typename U> U *allocateOf(int64_t count) {
    return static_cast<U *>(workspace.allocate(size_t(count) * sizeof(U)));
  }

  /// Calls pass(b, first, count) behind the logits of tokens.
  template <typename Fn> const char *forEach(Fn pass) {
    for (int64_t b = 0; b < head.b; ++b)
      for (int64_t first = 0; first < head.l; first += most) {
        int64_t count = std::min(most, head.l - first);
        if (const char *message = contract<T>(
                rowsOfH(b, first, count).transposed(), weight().transposed(),
                matrix(logits, count, head.v), false))
          return message;
        if (const char *message = pass(b, first, count))
          return message;
      }
    return nullptr;
  }

  MatrixOf rowsOfH(int64_t b, int64_t first, int64_t count) const {
    return {head.h.at(b, first), Element<T>::dtype, count, head.d,
            head.h.strides[1],   head.h.strides[2]};
  }
  MatrixOf weight() const {
    return {head.weight.data, Element<T>::dtype,      head.v,
            head.d,           head.weight.strides[0], head.weight.strides[1]};
  }
  /// Without gaps.
  template <typename U>
  static MatrixOf matrix(const U *data, int64_t rows, int64_t columns) {
    return {data, Element<U>::dtype, rows, columns, columns, 1};
  }

  const char *op;
  void *stream;
  Workspace workspace;
  const HeadArgs<T> &head;
  /// Tokens at a time.
  int64_t most;
  Acc *logits = nullptr;

private:
  static constexpr int64_t mostLogits = int64_t(1) << 26;
  /// Of a grid.
  static constexpr int64_t mostRows = 65535;
};

template <typename T> class HeadGradRun : HeadRun<T> {
public:
  using Acc = AccumulatorOf<T>;
  using HeadRun<T>::head;
  using HeadRun<T>::most;
  using HeadRun<T>::matrix;
  using HeadRun<T>::stream;

  HeadGradRun(const LinearCrossEntropyGradArgs<T> &args, void *stream)
      : HeadRun<T>("linear_cross_entropy_grad", args, stream), args(args) {}

  const char *run() {
    bool isWhole = this->allocate();
    if constexpr (isNarrow)
      for (T *&part : parts)
        isWhole &=
            (part = this->template allocateOf<T>(most * head.v)) != nullptr;
    else
      parts[0] = this->logits;
    dh = this->template allocateOf<Acc>(most * head.d);
    if (!isWhole || !dh)
      return outOfMemory(this->op);
    return this->forEach([&](int64_t b, int64_t first, int64_t count) {
      return pass(b, first, count);
    });
  }

private:
  static constexpr bool isNarrow = sizeof(T) != sizeof(Acc);

  const char *pass(int64_t b, int64_t first, int64_t count) {
    using Logits = CotangentOfLogits<T>;
    if (const char *message =
            launch(this->op,
                   Logits{args, b, first, this->logits, {parts[0], parts[1]}},
                   {ceilDiv(head.v, Logits::threads), count}, stream))
      return message;
    MatrixOf sums = matrix(dh, count, head.d);
    MatrixOf weights = {
        args.dweight.data,       Element<Acc>::dtype,    head.v, head.d,
        args.dweight.strides[0], args.dweight.strides[1]};
    for (int part = 0; part < (isNarrow ? 2 : 1); ++part) {
      MatrixOf cotangent = matrix(parts[part], count, head.v);
      if (const char *message = contract<T>(cotangent.transposed(),
                                            this->weight(), sums, part > 0))
        return message;
      if (const char *message =
              contract<T>(cotangent, this->rowsOfH(b, first, count), weights,
                          b > 0 || first > 0 || part > 0))
        return message;
    }
    using Round = RoundRows<T>;
    return launch(this->op, Round{dh, args.dh, b, first, count, head.d},
                  {ceilDiv(count * head.d, Round::threads)}, stream);
  }

  const LinearCrossEntropyGradArgs<T> &args;
  T *parts[2] = {};
  Acc *dh = nullptr;
};

} // namespace

template <typename T>
const char *linearCrossEntropy(const Call &call, void *stream) {
  LinearCrossEntropyArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  HeadRun<T> run("linear_cross_entropy", args, stream);
  if (!run.allocate())
    return outOfMemory(run.op);
  return run.forEach([&](int64_t b, int64_t first, int64_t count) {
    return launch(run.op,
                  LossOfSlices<T>{args, b, first, run.logits, faultRecord()},
                  {count, args.slices}, stream);
  });
}

template <typename T>
const char *linearCrossEntropyGrad(const Call &call, void *stream) {
  LinearCrossEntropyGradArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  return HeadGradRun<T>(args, stream).run();
}

template const char *linearCrossEntropy<float>(const Call &, void *);
template const char *linearCrossEntropy<double>(const Call &, void *);
template const char *linearCrossEntropy<BFloat16>(const Call &, void *);
template const char *linearCrossEntropyGrad<float>(const Call &, void *);
template const char *linearCrossEntropyGrad<double>(const Call &, void *);
template const char *linearCrossEntropyGrad<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
