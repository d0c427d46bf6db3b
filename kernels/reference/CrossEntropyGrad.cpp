//===- reference/CrossEntropyGrad.cpp - Adjoint of the cross-entropy ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "reference/Logits.h"
#include "reference/Reference.h"

#include <algorithm>
#include <cmath>

namespace cp::kernels::reference {

namespace {
/// The adjoint of one token after the other; cotangents of the weight's rows
/// are added up in the order of the tokens.
template <typename T> class Tokens {
public:
  using Acc = AccumulatorOf<T>;

  Tokens(const LinearCrossEntropyGradArgs<T> &args, void *memory) : args(args) {
    Carver carver(memory);
    logits = carver.take<Acc>(args.v);
    dh = carver.take<Acc>(args.d);
  }
  static size_t bytes(const LinearCrossEntropyGradArgs<T> &args) {
    return carved<Acc>(args.v) + carved<Acc>(args.d);
  }

  void run() {
    for (int64_t v = 0; v < args.v; ++v)
      for (int64_t i = 0; i < args.d; ++i)
        *args.dweight.at(v, i) = Acc(0);
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t l = 0; l < args.l; ++l) {
        std::fill(dh, dh + args.d, Acc(0));
        if (args.labels.at(b, l) != args.ignoreIndex)
          passToken(b, l);
        for (int64_t i = 0; i < args.d; ++i)
          *args.dh.at(b, l, i) = T(dh[i]);
      }
  }

private:
  void passToken(int64_t b, int64_t l) {
    computeLogits(args, b, l, logits);
    for (int64_t slice = 0; slice < args.slices; ++slice)
      passSlice(b, l, slice);
  }

  void passSlice(int64_t b, int64_t l, int64_t slice) {
    Acc lse = *args.lse.at(b, l, slice), dloss = *args.dloss.at(b, l, slice);
    Acc dlse = args.dlse.data ? *args.dlse.at(b, l, slice) : Acc(0);
    // The loss of all of a vocabulary has lse in it.
    if (!args.isSliced())
      dlse += dloss;
    int64_t label = args.rowIn(slice, args.labels.at(b, l));
    int64_t rows = args.sliceRows();
    for (int64_t v = slice * rows; v < (slice + 1) * rows; ++v) {
      Acc dlogit = std::exp(logits[v] - lse) * dlse;
      if (v == label)
        dlogit -= dloss;
      for (int64_t i = 0; i < args.d; ++i) {
        dh[i] += dlogit * Acc(*args.weight.at(v, i));
        *args.dweight.at(v, i) += dlogit * Acc(*args.h.at(b, l, i));
      }
    }
  }

  const LinearCrossEntropyGradArgs<T> &args;
  Acc *logits, *dh;
};
} // namespace

template <typename T> const char *linearCrossEntropyGrad(const Call &call) {
  LinearCrossEntropyGradArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  void *memory = scratch(Slot::Kernel, Tokens<T>::bytes(args));
  if (!memory)
    return outOfMemory("linear_cross_entropy_grad");
  Tokens<T>(args, memory).run();
  return nullptr;
}

template const char *linearCrossEntropyGrad<float>(const Call &);
template const char *linearCrossEntropyGrad<double>(const Call &);
template const char *linearCrossEntropyGrad<BFloat16>(const Call &);

} // namespace cp::kernels::reference
