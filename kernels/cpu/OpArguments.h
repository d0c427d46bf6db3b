//===- OpArguments.h - The decoded arguments of each operation --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The meaning of every argument stands in include/cp/Runtime/cprt.h. A decode
// function checks a call and fills the structure, or returns what does not fit.
// The plain and the fast kernels share them. Views of optional arguments that
// are absent have null data.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_OPARGUMENTS_H
#define CP_KERNELS_CPU_OPARGUMENTS_H

#include "AttentionTiles.h"
#include "CeilDiv.h"
#include "ElementRuns.h"
#include "Elements.h"
#include "Pieces.h"

namespace cp::kernels {

// The attributes of each operation, and where ranks are fixed its sizes and
// views: <Operation>Attributes and <Operation>Call, of Operations.td.
#define GET_CALLS
#include "KernelReaders.inc"

/// A tensor of any rank as its rows: row i starts at data + rows[i], and its
/// elements are `stride` apart.
template <typename T> struct RowTensor {
  T *data = nullptr;
  const int64_t *rows = nullptr;
  int64_t stride = 0;

  [[gnu::always_inline]] T *at(int64_t row, int64_t column) const {
    return data + rows[row] + column * stride;
  }
};

/// A call of matmul as it came: W is [n, k] where it is transposed.
template <typename T> struct MatmulBuffers {
  const Buffer *a, *c;
  View<const T, 2> w;
  int64_t n, k;
  bool accumulate, transposed;
};
template <typename T>
const char *decode(const Call &call, MatmulBuffers<T> &args);

/// The same of contract_rows.
template <typename T> struct ContractRowsBuffers {
  const Buffer *a, *b;
  View<AccumulatorOf<T>, 2> c;
  int64_t m, n;
  bool accumulate;
};
template <typename T>
const char *decode(const Call &call, ContractRowsBuffers<T> &args);

/// C[m, n] = sum_k A[m, k] W[k, n]. Sums are of AccumulatorOf<T>, and stored as
/// Out.
template <typename T, typename Out = T> struct MatmulArgs {
  int64_t m, n, k;
  bool accumulate;
  RowTensor<const T> a;
  /// op(W), indexed by [k, n] whichever way it lies.
  View<const T, 2> w;
  RowTensor<Out> c;
  /// Where k runs over rows of both tensors: the offset of each of them, in
  /// place of `a.rows` and of the first stride of `w`. Null else.
  const int64_t *aDepth = nullptr, *wDepth = nullptr;

  [[gnu::always_inline]] const T *aAt(int64_t row, int64_t depth) const {
    return aDepth ? a.data + aDepth[depth] + row * a.stride : a.at(row, depth);
  }
  [[gnu::always_inline]] const T *wAt(int64_t depth, int64_t column) const {
    return wDepth ? w.data + wDepth[depth] + column * w.strides[1]
                  : w.at(depth, column);
  }
};
template <typename T> const char *decode(const Call &call, MatmulArgs<T> &args);
/// Of contract_rows.
template <typename T>
const char *decodeRows(const Call &call, MatmulArgs<T, AccumulatorOf<T>> &args);

template <typename T> using Conv1dArgs = Conv1dCall<T>;
template <typename T> const char *decode(const Call &call, Conv1dArgs<T> &args);

template <typename T> using Conv1dGradArgs = Conv1dGradCall<T>;
template <typename T>
const char *decode(const Call &call, Conv1dGradArgs<T> &args);

/// The label of each token, i32 or i64.
struct Labels {
  const void *data = nullptr;
  bool isWide = false;
  int64_t strides[2] = {};

  int64_t at(int64_t b, int64_t l) const {
    int64_t offset = b * strides[0] + l * strides[1];
    return isWide ? static_cast<const int64_t *>(data)[offset]
                  : static_cast<const int32_t *>(data)[offset];
  }
};

/// What a loss and its adjoint read of a language model's head. Its rows are
/// slices of a vocabulary, or all of it as one slice.
template <typename T> struct HeadArgs {
  /// `vocabulary` counts the rows that labels may be, of which there are `v`
  /// here.
  int64_t b, l, d, v, slices, vocabulary, ignoreIndex;
  View<const T, 3> h;
  View<const T, 2> weight;
  Labels labels;
  /// Where each slice starts in the vocabulary. No data for all of it, whose
  /// losses are whole.
  View<const int64_t, 1> starts;

  bool isSliced() const { return starts.data != nullptr; }
  int64_t sliceRows() const { return v / slices; }
  /// The row that a label has here, if it is one of the slice's; else one that
  /// no slice has.
  int64_t rowIn(int64_t slice, int64_t label) const {
    int64_t row = label - (starts.data ? *starts.at(slice) : 0);
    return row >= 0 && row < sliceRows() ? slice * sliceRows() + row : -1;
  }
};

template <typename T> struct LinearCrossEntropyArgs : HeadArgs<T> {
  using Acc = AccumulatorOf<T>;
  /// [b, l, slices]
  View<Acc, 3> losses, lse;

  /// Of a token without a label.
  void ignore(int64_t token, int64_t place) const {
    for (int64_t i = 0; i < this->slices; ++i) {
      bool isFirst = !this->isSliced() || *this->starts.at(i) == 0;
      *losses.at(token, place, i) = 0;
      *lse.at(token, place, i) = isFirst ? Acc(0) : -Acc(__builtin_inf());
    }
  }
};
template <typename T>
const char *decode(const Call &call, LinearCrossEntropyArgs<T> &args);

template <typename T> struct LinearCrossEntropyGradArgs : HeadArgs<T> {
  using Acc = AccumulatorOf<T>;
  /// [b, l, slices]
  View<const Acc, 3> lse, dloss, dlse;
  View<T, 3> dh;
  View<Acc, 2> dweight;
};
template <typename T>
const char *decode(const Call &call, LinearCrossEntropyGradArgs<T> &args);

template <typename T> struct EmbeddingGradShape {
  int64_t rows, v, d;
  View<AccumulatorOf<T>, 2> dtable;
};
/// A call as it came. Ids are i64 or i32.
template <typename T> struct EmbeddingGradBuffers : EmbeddingGradShape<T> {
  const Buffer *ids, *dy;
};
template <typename T>
const char *decode(const Call &call, EmbeddingGradBuffers<T> &args);

/// The id of row i stands at idRows[i].
template <typename T> struct EmbeddingGradArgs : EmbeddingGradShape<T> {
  const void *ids;
  bool hasWideIds;
  const int64_t *idRows;
  RowTensor<const T> dy;
};
template <typename T>
const char *decode(const Call &call, EmbeddingGradArgs<T> &args);

template <typename T> struct RmsNormShape {
  int64_t rows, c, groups;
  double eps;
  bool gateFirst;
  View<const T, 1> weight;
};
/// A call as it came; `gate` is null where there is none.
template <typename T> struct RmsNormBuffers : RmsNormShape<T> {
  const Buffer *x, *gate, *y;
};
template <typename T>
const char *decode(const Call &call, RmsNormBuffers<T> &args);

template <typename T> struct RmsNormArgs : RmsNormShape<T> {
  RowTensor<const T> x, gate;
  RowTensor<T> y;
};
template <typename T>
const char *decode(const Call &call, RmsNormArgs<T> &args);

template <typename T> struct RmsNormGradShape : RmsNormShape<T> {
  View<AccumulatorOf<T>, 1> dweight;
};
/// A call as it came; `gate` and `dgate` are null where there are none.
template <typename T> struct RmsNormGradBuffers : RmsNormGradShape<T> {
  const Buffer *x, *dy, *gate, *dx, *dgate;
};
template <typename T>
const char *decode(const Call &call, RmsNormGradBuffers<T> &args);

template <typename T> struct RmsNormGradArgs : RmsNormGradShape<T> {
  RowTensor<const T> x, dy, gate;
  RowTensor<T> dx, dgate;
};
template <typename T>
const char *decode(const Call &call, RmsNormGradArgs<T> &args);

/// The sizes of a scan.
struct SsdSizes {
  int64_t b, l, h, p, g, n, chunk;
  int64_t headsPerGroup() const { return g ? h / g : 0; }
  int64_t chunks() const { return ceilDiv(l, chunk); }
  /// Multiply-adds of the recurrence.
  int64_t cost() const { return 2 * b * l * h * p * n; }
  /// Elements of y.
  int64_t outputs() const { return b * l * h * p; }
};

/// What gives the step sizes and the decay.
template <typename T> struct StepArgs {
  double dtMax, dtMin;
  View<const T, 3> dt;
  View<const T, 1> aLog;
  View<const T, 1> bias;
};

/// `D` broadcasts over p (stride 0) when the call gives it per head.
template <typename T> struct SsdArgs : SsdSizes {
  StepArgs<T> step;
  View<const T, 4> x, B, C;
  View<const T, 2> D;
  View<const T, 4> initial;
  PlacesView places;
  View<T, 4> y, finalState;
};
template <typename T> const char *decode(const Call &call, SsdArgs<T> &args);

template <typename T> struct SsdGradArgs : SsdSizes {
  using Acc = AccumulatorOf<T>;
  StepArgs<T> step;
  View<const T, 4> x, B, C, dy;
  View<const T, 2> D;
  View<const Acc, 4> initial, dstate;
  PlacesView places;
  View<T, 4> dx, dB, dC;
  View<T, 3> ddt;
  View<Acc, 1> dALog, dDtBias;
  View<Acc, 2> dD;
  View<Acc, 4> dinitial;
};
template <typename T>
const char *decode(const Call &call, SsdGradArgs<T> &args);

template <typename T> struct SsdGradStatesArgs : SsdSizes {
  using Acc = AccumulatorOf<T>;
  StepArgs<T> step;
  View<const T, 4> dy, C;
  PlacesView places;
  View<Acc, 4> dstate;
};
template <typename T>
const char *decode(const Call &call, SsdGradStatesArgs<T> &args);

/// What one half of a split scan hands to the other is kept as it was summed.
template <typename T> struct SsdStatesArgs : SsdSizes {
  using Acc = AccumulatorOf<T>;
  StepArgs<T> step;
  View<const T, 4> x, B;
  PlacesView places;
  View<Acc, 2> decay;
  View<Acc, 4> state;
  View<Acc, 5> chunkStates;
  View<Acc, 3> delta;
};
template <typename T>
const char *decode(const Call &call, SsdStatesArgs<T> &args);

template <typename T> struct SsdScanArgs : SsdSizes {
  using Acc = AccumulatorOf<T>;
  View<const T, 1> aLog;
  View<const T, 4> x, B, C;
  View<const T, 2> D;
  View<const Acc, 5> chunkStates;
  View<const Acc, 3> delta;
  View<const Acc, 2> prefixDecay;
  View<const Acc, 4> prefixState, initial;
  PlacesView places;
  View<T, 4> y;
  View<Acc, 4> finalState;
};
template <typename T>
const char *decode(const Call &call, SsdScanArgs<T> &args);

/// Exactly one of `o` and `sums` has data: `sums` where o is not rounded yet.
template <typename T> struct AttentionArgs {
  using Acc = AccumulatorOf<T>;
  int64_t b, l, s, hq, hkv, d, dv;
  AttentionMask mask;
  double scale;
  Runs qRuns, kRuns;
  View<const T, 4> q, k, v;
  PlacesView places;
  View<T, 4> o;
  View<Acc, 4> sums;
  View<Acc, 3> lse;
  int64_t headsPerGroup() const { return hkv ? hq / hkv : 0; }
  /// Of a batch element; a view of nothing where there are none.
  View<const int64_t, 1> placesOf(int64_t element) const {
    if (!places.data)
      return {};
    return {places.at(element), {places.strides[1]}};
  }
};
template <typename T>
const char *decode(const Call &call, AttentionArgs<T> &args);

template <typename T> struct AttentionGradArgs : AttentionGradCall<T> {
  using Acc = AccumulatorOf<T>;
  AttentionMask mask;
  /// Of a block: where its keys stand; all keys are in one run.
  Runs kRuns;
  /// Of a block: what is added to. No data for zeros.
  View<const Acc, 4> dqBefore, dkBefore, dvBefore;
  /// Of a block: dq, which has no data then, as a sum that is not rounded.
  View<Acc, 4> dqSum;
  int64_t headsPerGroup() const { return this->hkv ? this->hq / this->hkv : 0; }
};
template <typename T>
const char *decode(const Call &call, AttentionGradArgs<T> &args);
/// A call of attention_grad_block.
template <typename T>
const char *decodeBlock(const Call &call, AttentionGradArgs<T> &args);

/// Exactly one of `o` and `rounded` has data.
template <typename Acc> struct AttentionMergeArgs {
  int64_t b, l, h, dv;
  View<const Acc, 4> parts[2];
  View<const Acc, 3> lses[2];
  View<Acc, 4> o;
  View<BFloat16, 4> rounded;
  View<Acc, 3> lse;
};
template <typename Acc>
const char *decode(const Call &call, AttentionMergeArgs<Acc> &args);

template <typename T> using RotaryArgs = RotaryCall<T>;
template <typename T> const char *decode(const Call &call, RotaryArgs<T> &args);

template <typename T> struct SquaredNormArgs {
  /// Of x.
  ElementRuns runs;
  const T *x;
  double *sum;
};
template <typename T>
const char *decode(const Call &call, SquaredNormArgs<T> &args);

/// What all updates have. `runs` are of the tensors in the order in which they
/// stand in the structures, `rounded` last, which may be null.
template <typename T> struct UpdateArgs {
  ElementRuns runs;
  const T *param, *grad;
  /// Where the tensors are.
  const double *rate, *scale;
  double weightDecay;
};

template <typename T> struct SgdArgs : UpdateArgs<T> {
  T *updated;
  BFloat16 *rounded;
};
template <typename T> const char *decode(const Call &call, SgdArgs<T> &args);

template <typename T> struct AdamwArgs : UpdateArgs<T> {
  const T *expAvg, *expAvgSq;
  T *updated, *expAvgOut, *expAvgSqOut;
  BFloat16 *rounded;
  /// From 1.
  const int64_t *step;
  double beta1, beta2, eps;
};
template <typename T> const char *decode(const Call &call, AdamwArgs<T> &args);

/// Its runs are of grad, sum and updated.
template <typename T> struct AccumulateArgs {
  ElementRuns runs;
  const T *grad, *sum;
  T *updated;
  /// From 0, with which nothing is in the sum yet.
  const int64_t *microBatch;
};
template <typename T>
const char *decode(const Call &call, AccumulateArgs<T> &args);

template <typename T> struct SumRowsArgs {
  int64_t r, n;
  View<const T, 2> x;
  View<T, 1> y;
};
template <typename T>
const char *decode(const Call &call, SumRowsArgs<T> &args);

/// Documents that follow each other, as each of r ranks has been given them,
/// and the places of one's rows within them.
struct DocumentPlacesArgs {
  int64_t r, b, n, l;
  /// Which of the r this is, and the tokens of a row of all ranks together.
  int64_t own, tokens;
  /// [r, b, n]: 0, and where each document ends.
  View<const int32_t, 3> documents;
  /// [l], or absent: which tokens this rank has, if not the first l.
  View<const int64_t, 1> rows;
  /// [b, l].
  View<int64_t, 2> places;
};
const char *decode(const Call &call, DocumentPlacesArgs &args);

template <typename T> struct JoinStatesArgs {
  int64_t n, first, inner;
  View<const T, 1> left, right, decays;
  View<T, 1> y;
};
template <typename T>
const char *decode(const Call &call, JoinStatesArgs<T> &args);

template <typename T> struct JoinDecaysArgs {
  int64_t n;
  View<const T, 1> left, right;
  View<T, 1> y;
};
template <typename T>
const char *decode(const Call &call, JoinDecaysArgs<T> &args);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_OPARGUMENTS_H
