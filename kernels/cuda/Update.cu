//===- Update.cu - Steps of optimizers on a card --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "OpArguments.h"
#include "Sums.h"

#include <vector>

namespace cp::kernels::cuda {

namespace {

/// Where an element of several tensors is in each.
struct ElementAt {
  const ElementRuns &runs;
  int64_t run, at;

  CP_DEVICE ElementAt(const ElementRuns &runs, int64_t element)
      : runs(runs), run(runs.count() == 1 ? 0 : element / runs.length()),
        at(element - run * runs.length()) {}

  CP_DEVICE int64_t operator[](int tensor) const {
    return runs.offset(tensor, run) + at * runs.stride(tensor);
  }
};

/// What is wrong with the numbers of a step; one thread looks.
CP_DEVICE void noteStepFaults(int64_t *record, const double *rate,
                              const int64_t *step) {
  if (thread() || blockX())
    return;
  if (!(0 * *rate == 0))
    noteFault(record, Fault::Rate, 0, 0);
  else if (step && *step < 1)
    noteFault(record, Fault::Step, 0, *step);
}

/// A thread an element. Where there is no step, all is copied.
template <typename T> struct SgdStep {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  SgdArgs<T> args;
  int64_t count;
  int64_t *faults;

  CP_DEVICE void operator()() const {
    noteStepFaults(faults, args.rate, nullptr);
    int64_t element = int64_t(blockX()) * threads + thread();
    if (element >= count)
      return;
    ElementAt at(args.runs, element);
    T param = args.param[at[0]];
    double scale = *args.scale;
    if (scale == scale)
      param -= T(*args.rate) *
               (T(scale) * args.grad[at[1]] + T(args.weightDecay) * param);
    args.updated[at[2]] = param;
    if constexpr (sizeof(T) == sizeof(float))
      if (args.rounded)
        args.rounded[at[3]] = narrowed<BFloat16>(param);
  }
};

template <typename T> struct AdamwStep {
  static constexpr int threads = 256, blocks = 1;
  struct Shared {
    double rate, bias;
  };

  AdamwArgs<T> args;
  int64_t count;
  int64_t *faults;

  CP_DEVICE void operator()() const {
    noteStepFaults(faults, args.rate, args.step);
    auto &mine = shared<Shared>();
    // Powers take long; one thread is enough.
    if (thread() == 0) {
      auto steps = double(*args.step);
      sharedStore(&mine.rate, *args.rate / (1 - pow(args.beta1, steps)));
      sharedStore(&mine.bias, 1 - pow(args.beta2, steps));
    }
    barrier();
    int64_t element = int64_t(blockX()) * threads + thread();
    if (element >= count)
      return;
    ElementAt at(args.runs, element);
    T param = args.param[at[0]], m = args.expAvg[at[2]],
      v = args.expAvgSq[at[3]];
    double scale = *args.scale;
    if (scale == scale) {
      T g = T(scale) * args.grad[at[1]];
      m = T(args.beta1) * m + T(1 - args.beta1) * g;
      v = T(args.beta2) * v + T(1 - args.beta2) * g * g;
      T below = rootOf(v / T(sharedLoad(&mine.bias))) + T(args.eps);
      param = T(1 - *args.rate * args.weightDecay) * param -
              T(sharedLoad(&mine.rate)) * m / below;
    }
    args.updated[at[4]] = param;
    args.expAvgOut[at[5]] = m;
    args.expAvgSqOut[at[6]] = v;
    if constexpr (sizeof(T) == sizeof(float))
      if (args.rounded)
        args.rounded[at[7]] = narrowed<BFloat16>(param);
  }
};

template <typename T> struct AccumulateStep {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  AccumulateArgs<T> args;
  int64_t count;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    if (element >= count)
      return;
    ElementAt at(args.runs, element);
    T grad = args.grad[at[0]];
    args.updated[at[2]] = *args.microBatch == 0 ? grad : args.sum[at[1]] + grad;
  }
};

/// The sum of the squares of `each` elements a block.
template <typename T> struct SquaresOfBlock {
  static constexpr int threads = 256, blocks = 1;
  static constexpr int64_t each = 1 << 14;
  using Shared = BlockSum<double, threads>;

  SquaredNormArgs<T> args;
  int64_t count;
  double *partial;

  CP_DEVICE void operator()() const {
    int64_t first = int64_t(blockX()) * each, end = least(first + each, count);
    double sum = 0;
    for (int64_t element = first + thread(); element < end;
         element += threads) {
      auto x = double(widened(args.x[ElementAt(args.runs, element)[0]]));
      sum += x * x;
    }
    sum = shared<Shared>().of(sum);
    if (thread() == 0)
      partial[blockX()] = sum;
  }
};

/// Of one block: the sum of numbers, or of those that pointers point to.
template <typename From> struct SumOfAll {
  static constexpr int threads = 256, blocks = 1;
  using Shared = BlockSum<double, threads>;

  const From *terms;
  int64_t count;
  double *to;

  CP_DEVICE void operator()() const {
    double sum = 0;
    for (int64_t i = thread(); i < count; i += threads)
      sum += valueOf(terms[i]);
    sum = shared<Shared>().of(sum);
    if (thread() == 0)
      *to = sum;
  }

private:
  CP_DEVICE static double valueOf(double value) { return value; }
  CP_DEVICE static double valueOf(const double *value) { return *value; }
};

int64_t elementsOf(const ElementRuns &runs) {
  return runs.count() * runs.length();
}

template <typename Kernel, typename Args, typename... More>
const char *overElements(const char *op, const Args &args, void *stream,
                         More... more) {
  int64_t count = elementsOf(args.runs);
  return launch(op, Kernel{args, count, more...},
                {ceilDiv(count, Kernel::threads)}, stream);
}

} // namespace

template <typename T> const char *sgd(const Call &call, void *stream) {
  SgdArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  return overElements<SgdStep<T>>("sgd", args, stream, faultRecord());
}

template <typename T> const char *adamw(const Call &call, void *stream) {
  AdamwArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  return overElements<AdamwStep<T>>("adamw", args, stream, faultRecord());
}

template <typename T> const char *accumulate(const Call &call, void *stream) {
  AccumulateArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  return overElements<AccumulateStep<T>>("accumulate", args, stream);
}

template <typename T> const char *squaredNorm(const Call &call, void *stream) {
  SquaredNormArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  using Kernel = SquaresOfBlock<T>;
  int64_t count = elementsOf(args.runs), blocks = ceilDiv(count, Kernel::each);
  Workspace workspace(stream);
  auto *partial = static_cast<double *>(
      workspace.allocate(size_t(blocks) * sizeof(double)));
  if (!partial)
    return outOfMemory("squared_norm");
  if (const char *message = launch("squared_norm", Kernel{args, count, partial},
                                   {blocks}, stream))
    return message;
  return launch("squared_norm", SumOfAll<double>{partial, blocks, args.sum},
                {1}, stream);
}

const char *sum(const Call &call, void *stream) {
  Arguments in(call, "sum");
  in.expectAttributes(0);
  auto *result = in.scalarOutput<double>("sum");
  std::vector<int64_t> terms;
  for (size_t i = 0; i < call.numIns; ++i)
    terms.push_back(
        reinterpret_cast<intptr_t>(in.scalarInput<double>("a term")));
  if (in.error())
    return in.error();
  Workspace workspace(stream);
  int64_t *there = workspace.upload(terms.data(), terms.size());
  if (!there)
    return outOfMemory("sum");
  static_assert(sizeof(int64_t) == sizeof(const double *));
  return launch(
      "sum",
      SumOfAll<const double *>{reinterpret_cast<const double *const *>(there),
                               int64_t(terms.size()), result},
      {1}, stream);
}

template const char *sgd<float>(const Call &, void *);
template const char *sgd<double>(const Call &, void *);
template const char *adamw<float>(const Call &, void *);
template const char *adamw<double>(const Call &, void *);
template const char *accumulate<float>(const Call &, void *);
template const char *accumulate<double>(const Call &, void *);
template const char *squaredNorm<float>(const Call &, void *);
template const char *squaredNorm<double>(const Call &, void *);
template const char *squaredNorm<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
