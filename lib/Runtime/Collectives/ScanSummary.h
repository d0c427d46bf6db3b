//===- ScanSummary.h - What a rank contributes to a scan --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A summary is one piece of memory: the states, then the decays that multiply
// what comes from the left. In this order a summary can take in its left
// neighbour in place, front to back: decays are read before they change.
//
// Summaries that combine in a way of their own have no decays: what they hold
// for each unit, which is what combines alone, lies together as one state.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SCANSUMMARY_H
#define CP_LIB_RUNTIME_SCANSUMMARY_H

#include "Core/Context.h"

#include <array>

namespace cp::runtime {

/// Elements [begin, end).
struct Range {
  int64_t begin, end;
  int64_t length() const { return end - begin; }
};

/// How summaries combine that do so in a way of their own.
struct OwnCombine {
  /// What the caller gave: see cprt_scan_state_with.
  cprt_op *function;
  Context &context;
  const Descriptor &call;
  /// So many dimensions of each tensor count units.
  int batchDims;
  /// Where the tensors of a unit begin in it, in elements, and its size.
  List<int64_t> offsets;
  /// Of the size of a summary: the function does not work in place.
  char *scratch = nullptr;

  size_t numTensors() const { return offsets.size() - 1; }
};

struct SummaryShape {
  DType dtype;
  /// Elements; each decay belongs to `statesPerDecay` states in a row.
  int64_t states, decays, statesPerDecay;
  int64_t stateBytes, decayBytes;
  /// How many summaries a rank brings: element i of dim 0 of its buffers
  /// belongs to number i mod `perRank`, which is its slot; in reverse the last
  /// number is slot 0.
  int64_t perRank;
  bool isReverse = false;
  /// Null for a decay and a state.
  const OwnCombine *own = nullptr;
  /// Where the summaries and the call's buffers are, and are combined; null for
  /// the host.
  DeviceQueue *queue = nullptr;

  int64_t bytes() const { return stateBytes + decayBytes; }
  int64_t elementBytes() const { return int64_t(sizeOf(dtype)); }
  size_t numTensors() const { return own ? own->numTensors() : 2; }
  /// So many elements in a row are not divided.
  int64_t unit() const;
  int64_t units() const { return (states + decays) / unit(); }

  Range all() const { return {0, states + decays}; }
  /// One of `blocks` in a row of a summary, in whole units: the first ones are
  /// one unit longer where it does not divide, and may be all there is.
  Range block(int64_t blocks, int64_t index) const;
  /// The same of the states alone.
  Range slice(int64_t slices, int64_t index) const;
};

/// What belongs to one slot of a buffer.
class SlotView {
public:
  SlotView(const Buffer &all, const SummaryShape &shape, int64_t slot);
  SlotView(const SlotView &) = delete;
  SlotView &operator=(const SlotView &) = delete;
  const Buffer &buffer() const { return view; }

private:
  std::array<int64_t, maxRank> sizes, strides;
  Buffer view;
};

/// Copies one slot of a call's inputs to a summary; and a summary to its
/// outputs.
Error pack(char *summary, const Descriptor &call, const SummaryShape &shape,
           int64_t slot);
Error unpack(const char *summary, const Descriptor &call,
             const SummaryShape &shape, int64_t slot);
/// A summary to the outputs that are the total.
Error unpackTotal(const char *summary, const Descriptor &call,
                  const SummaryShape &shape);
/// The outputs for the part that none precedes: decays 1, states 0, or what the
/// summaries' own combine has for no tokens.
Error writeIdentity(const Descriptor &call, const SummaryShape &shape,
                    int64_t slot);

/// So many states of a summary become zeros.
Error clearStates(const Descriptor &call, char *states,
                  const SummaryShape &shape, int64_t count);

/// The elements `range` of a summary become those of `left`, then `right`.
/// `result` may be either; as `right` only when ranges come front to back.
/// `call` is for messages, here and below.
Error combine(const Descriptor &call, char *result, const char *left,
              const char *right, const SummaryShape &shape, Range range);
/// The same for states alone: `decays` are all decays of the right summary, the
/// other pointers are at the state `range.begin`.
Error combineStates(const Descriptor &call, char *result, const char *left,
                    const char *right, const char *decays,
                    const SummaryShape &shape, Range range);
/// The same for `count` decays; `result` may be `left` or `right`.
Error multiplyDecays(const Descriptor &call, char *result, const char *left,
                     const char *right, const SummaryShape &shape,
                     int64_t count);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SCANSUMMARY_H
