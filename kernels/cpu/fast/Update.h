//===- fast/Update.h - Fast steps of optimizers -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_UPDATE_H
#define CP_KERNELS_CPU_FAST_UPDATE_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Vec.h"

namespace cp::kernels::fast {

/// Elements of several tensors in blocks, which threads share, and there in
/// vectors. What a lane holds goes by its place in a run, so that numbers
/// depend on no other thing.
template <typename Isa, typename T> class ElementBlocks {
public:
  using V = Vec<Isa, T>;
  using Type = typename V::Type;

  explicit ElementBlocks(const ElementRuns &runs)
      : runs(runs), perRun(ceilDiv(runs.length(), blockLength)) {}

  int64_t count() const { return runs.count() * perRun; }
  int64_t numElements() const { return runs.count() * runs.length(); }

  /// Calls fn(lanes) for the vectors of a block; see Lanes.
  template <typename Fn>
  [[gnu::always_inline]] void forEach(int64_t block, Fn fn) const {
    int64_t first = block % perRun * blockLength,
            end = least(runs.length(), first + blockLength);
    Lanes at{block / perRun, first, V::lanes, runs};
    if (!runs.isDense()) {
      for (; at.first < end; at.first += V::lanes) {
        at.count = least(V::lanes, end - at.first);
        fn(Strided{at});
      }
      return;
    }
    for (int i = 0; i < ElementRuns::maxTensors; ++i)
      at.offsets[i] = runs.offset(i, at.run);
    for (; at.first + V::lanes <= end; at.first += V::lanes)
      fn(Full{at});
    at.count = end - at.first;
    if (at.count > 0)
      fn(Part{at});
  }

private:
  static constexpr int64_t blockLength = 1 << 14;

  struct Lanes {
    int64_t run, first, count;
    const ElementRuns &runs;
    int64_t offsets[ElementRuns::maxTensors];
  };
  struct Full {
    const Lanes &at;
    template <typename From> Type load(int tensor, const From *data) const {
      return V::load(data + at.offsets[tensor] + at.first);
    }
    template <typename To> void store(int tensor, To *data, Type value) const {
      V::store(data + at.offsets[tensor] + at.first, value);
    }
  };
  struct Part {
    const Lanes &at;
    template <typename From> Type load(int tensor, const From *data) const {
      return V::loadPart(data + at.offsets[tensor] + at.first, at.count);
    }
    template <typename To> void store(int tensor, To *data, Type value) const {
      V::storePart(data + at.offsets[tensor] + at.first, value, at.count);
    }
  };
  struct Strided {
    const Lanes &at;
    int64_t offset(int tensor, int64_t lane) const {
      return at.runs.offset(tensor, at.run) +
             (at.first + lane) * at.runs.stride(tensor);
    }
    template <typename From> Type load(int tensor, const From *data) const {
      Type value = {};
      for (int64_t lane = 0; lane < at.count; ++lane)
        value[lane] = T(data[offset(tensor, lane)]);
      return value;
    }
    template <typename To> void store(int tensor, To *data, Type value) const {
      for (int64_t lane = 0; lane < at.count; ++lane)
        data[offset(tensor, lane)] = To(value[lane]);
    }
  };

  const ElementRuns &runs;
  int64_t perRun;
};

/// GCC takes a vector's size from a parameter as it is, and from no other
/// expression.
template <int Bytes> struct Doubles {
  typedef double Type __attribute__((vector_size(Bytes)));
};

/// Squares of a block are added up in f64, and then those of blocks in their
/// order.
template <typename Isa, typename T> class SquaredNorm {
public:
  static const char *run(const Call &call) {
    SquaredNormArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    Blocks blocks(args.runs);
    auto *partial = static_cast<double *>(
        scratch(Slot::Segments, carved<double>(blocks.count())));
    if (!partial)
      return outOfMemory("squared_norm");
    const char *message = share(blocks.count(), blocks.numElements(),
                                [&](Items &items) -> const char * {
                                  for (int64_t i; items.take(i);)
                                    partial[i] = ofBlock(args, blocks, i);
                                  return nullptr;
                                });
    double sum = 0;
    for (int64_t i = 0; i < blocks.count(); ++i)
      sum += partial[i];
    *args.sum = sum;
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;
  using Blocks = ElementBlocks<Isa, Acc>;
  using Type = typename Blocks::Type;
  static constexpr int lanes = Blocks::V::lanes;
  using Sums = typename Doubles<lanes *int(sizeof(double))>::Type;

  static double ofBlock(const SquaredNormArgs<T> &args, const Blocks &blocks,
                        int64_t block) {
    Sums sums = {};
    blocks.forEach(block, [&](auto at) {
      Sums x = __builtin_convertvector(at.load(0, args.x), Sums);
      sums += x * x;
    });
    double sum = 0;
    for (int lane = 0; lane < lanes; ++lane)
      sum += sums[lane];
    return sum;
  }
};

/// The steps of SGD and of AdamW, and sums over micro-batches. Where there is
/// no step, all is copied.
template <typename Isa, typename T> class Update {
public:
  static const char *sgd(const Call &call) {
    SgdArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    Type rate = V::splat(T(*args.rate)), scale = V::splat(T(*args.scale)),
         decay = V::splat(T(args.weightDecay));
    return overBlocks(args.runs, [&](auto at) {
      Type param = at.load(0, args.param);
      if (*args.scale == *args.scale)
        param -= rate * (scale * at.load(1, args.grad) + decay * param);
      at.store(2, args.updated, param);
      if (args.rounded)
        storeRounded(at, 3, args.rounded, param);
    });
  }

  static const char *adamw(const Call &call) {
    AdamwArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    Adamw step(args);
    Type scale = V::splat(T(*args.scale));
    return overBlocks(args.runs, [&](auto at) {
      Type param = at.load(0, args.param), m = at.load(2, args.expAvg),
           v = at.load(3, args.expAvgSq);
      if (*args.scale == *args.scale)
        step.make(scale * at.load(1, args.grad), param, m, v);
      at.store(4, args.updated, param);
      at.store(5, args.expAvgOut, m);
      at.store(6, args.expAvgSqOut, v);
      if (args.rounded)
        storeRounded(at, 7, args.rounded, param);
    });
  }

  static const char *accumulate(const Call &call) {
    AccumulateArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    bool isFirst = *args.microBatch == 0;
    return overBlocks(args.runs, [&](auto at) {
      Type grad = at.load(0, args.grad);
      at.store(2, args.updated, isFirst ? grad : at.load(1, args.sum) + grad);
    });
  }

private:
  using Blocks = ElementBlocks<Isa, T>;
  using V = typename Blocks::V;
  using Type = typename Blocks::Type;

  struct Adamw {
    explicit Adamw(const AdamwArgs<T> &args)
        : beta1(V::splat(T(args.beta1))), rest1(V::splat(T(1 - args.beta1))),
          beta2(V::splat(T(args.beta2))), rest2(V::splat(T(1 - args.beta2))),
          eps(V::splat(T(args.eps))),
          keep(V::splat(T(1 - *args.rate * args.weightDecay))) {
      auto steps = double(*args.step);
      rate = V::splat(T(*args.rate / (1 - __builtin_pow(args.beta1, steps))));
      bias = V::splat(T(1 - __builtin_pow(args.beta2, steps)));
    }

    [[gnu::always_inline]] void make(Type g, Type &param, Type &m,
                                     Type &v) const {
      m = beta1 * m + rest1 * g;
      v = beta2 * v + rest2 * g * g;
      param = keep * param - rate * m / (squareRoot(v / bias) + eps);
    }

    static Type squareRoot(Type x) {
      for (int lane = 0; lane < V::lanes; ++lane)
        x[lane] = T(__builtin_sqrt(x[lane]));
      return x;
    }

    Type beta1, rest1, beta2, rest2, eps, keep, rate, bias;
  };

  template <typename Fn>
  static const char *overBlocks(const ElementRuns &runs, Fn fn) {
    Blocks blocks(runs);
    // Beside what memory takes the arithmetic is little.
    return share(blocks.count(), 8 * blocks.numElements(),
                 [&](Items &items) -> const char * {
                   for (int64_t i; items.take(i);)
                     blocks.forEach(i, fn);
                   return nullptr;
                 });
  }

  // Only f32 has a narrower type beside it.
  template <typename Lanes>
  [[gnu::always_inline]] static void
  storeRounded(Lanes at, int tensor, BFloat16 *rounded, Type value) {
    if constexpr (sizeof(T) == sizeof(float))
      at.store(tensor, rounded, value);
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_UPDATE_H
