//===- AttentionArguments.cpp - Decoding of attention ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

#include <type_traits>

namespace cp::kernels {

#define GET_READER_attention_grad
#include "KernelReaders.inc"

/// Reads an array of words at `next`; whether they are runs is checkRuns'.
static const char *readRuns(const char *op, const Call &call, size_t &next,
                            const char *name, Runs &runs) {
  int64_t left = int64_t(call.numAttrs) - int64_t(next) - 1;
  int64_t words = left >= 0 ? call.attrs[next] : -1;
  if (words < 0 || words > left || words % Runs::wordsPerRun != 0)
    return fail("%s: %s needs three words for each run, at most %lld, got "
                "%lld; compile "
                "the program again with this version",
                op, name, static_cast<long long>(left),
                static_cast<long long>(words));
  runs = {call.attrs + next + 1, words / Runs::wordsPerRun};
  next += size_t(words) + 1;
  return nullptr;
}

static const char *checkRuns(const char *op, Runs runs, const char *name,
                             int64_t rows) {
  int64_t found = 0;
  for (int64_t i = 0; i < runs.count; ++i) {
    Run run = runs[i];
    int64_t end;
    if (run.first < 0 || run.length < 1 || run.step < 1 ||
        __builtin_mul_overflow(run.length, run.step, &end) ||
        __builtin_add_overflow(end, run.first, &end) ||
        __builtin_add_overflow(found, run.length, &found))
      return fail("%s: a run of %s must start at 0 or later, have a row and go "
                  "forward, got %lld rows from %lld on, %lld apart",
                  op, name, static_cast<long long>(run.length),
                  static_cast<long long>(run.first),
                  static_cast<long long>(run.step));
  }
  if (found != rows)
    return fail("%s: %s must hold as many rows as its tensor, %lld, got %lld",
                op, name, static_cast<long long>(rows),
                static_cast<long long>(found));
  return nullptr;
}

/// The attribute words; see Kernels.h.
template <typename T>
static const char *readAttributes(const Call &call, Arguments &in,
                                  AttentionArgs<T> &args) {
  size_t next = 3;
  if (call.numAttrs < next)
    return fail("attention: expected at least 5 attribute words, got %zu; "
                "compile the program again with this version",
                call.numAttrs);
  args.mask.causal = in.flag("causal");
  args.scale = in.real("scale");
  args.mask.window = call.attrs[2];
  if (in.error())
    return in.error();
  if (args.mask.window < 0 || (args.mask.window && !args.mask.causal))
    return fail("attention: window must be 0, or at least 1 beside causal, "
                "got %lld; it limits how far back a causal query sees",
                static_cast<long long>(args.mask.window));
  if (const char *wrong =
          readRuns("attention", call, next, "q_runs", args.qRuns))
    return wrong;
  if (const char *wrong =
          readRuns("attention", call, next, "k_runs", args.kRuns))
    return wrong;
  in.expectAttributes(next);
  return in.error();
}

template <typename T>
const char *decode(const Call &call, AttentionArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "attention");
  if (const char *wrong = readAttributes(call, in, args))
    return wrong;
  in.expectBuffers(3, 4, 2, 2);
  if (in.error())
    return in.error();

  Dim b = {"b"}, l = {"l"}, s = {"s"}, hq = {"hq"}, hkv = {"hkv"}, d = {"d"},
      dv = {"dv"};
  args.q = in.input<T>("q", {&b, &l, &hq, &d});
  args.k = in.input<T>("k", {&b, &s, &hkv, &d});
  args.v = in.input<T>("v", {&b, &s, &hkv, &dv});
  args.places = in.optionalInput<int64_t>("places", {&b, &l});
  // A part of a sum that others are added to is not rounded yet.
  if (!std::is_same_v<T, Acc> && call.outs[0].dtype == Element<Acc>::dtype)
    args.sums = in.output<Acc>("o", {&b, &l, &hq, &dv});
  else
    args.o = in.output<T>("o", {&b, &l, &hq, &dv});
  args.lse = in.output<Acc>("lse", {&b, &hq, &l});
  in.expectDivides(hq, hkv);
  if (in.error())
    return in.error();
  args.b = b.size;
  args.l = l.size;
  args.s = s.size;
  args.hq = hq.size;
  args.hkv = hkv.size;
  args.d = d.size;
  args.dv = dv.size;
  if (const char *wrong = checkRuns("attention", args.qRuns, "q_runs", args.l))
    return wrong;
  if (const char *wrong = checkRuns("attention", args.kRuns, "k_runs", args.s))
    return wrong;
  if (args.places.data && !args.mask.causal)
    return fail("attention: places want causal, since they say how far back a "
                "query sees");
  return in.isOnDevice() ? nullptr
                         : checkReach(args.places, args.b, args.qRuns);
}

/// That queries stand among the keys, of which there are `whole` in all, and
/// places say what is before them.
template <typename T>
static const char *checkPositions(const char *op,
                                  const AttentionGradArgs<T> &args,
                                  int64_t whole) {
  for (int64_t row = 0; row < args.l; ++row) {
    int64_t position = *args.positions.at(row);
    if (position < 0 || position >= whole)
      return fail("%s: positions must be at least 0 and below the number of "
                  "keys, %lld, but query %lld has %lld",
                  op, static_cast<long long>(whole),
                  static_cast<long long>(row),
                  static_cast<long long>(position));
    for (int64_t b = 0; args.places.data && b < args.b; ++b)
      if (int64_t place = *args.places.at(b, row);
          place < -1 || place > position)
        return fail("%s: a place must be -1 or count the tokens of its "
                    "sequence before it, at most %lld here, but query %lld of "
                    "element %lld has %lld",
                    op, static_cast<long long>(position),
                    static_cast<long long>(row), static_cast<long long>(b),
                    static_cast<long long>(place));
  }
  return nullptr;
}

/// What a query sees.
template <typename T>
static const char *checkRule(const char *op, AttentionGradArgs<T> &args) {
  args.mask = {args.causal, args.window};
  if (args.window && !args.causal)
    return fail("%s: window must be 0, or at least 1 beside causal, got %lld; "
                "it limits how far back a causal query sees",
                op, static_cast<long long>(args.window));
  if (args.positions.data && !args.causal)
    return fail("%s: positions want causal, since they say which keys a query "
                "sees",
                op);
  if (args.places.data && !args.causal)
    return fail("%s: places want causal, since they say how far back a query "
                "sees",
                op);
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, AttentionGradArgs<T> &args) {
  Arguments in(call, "attention_grad");
  read(in, args);
  in.expectDivides({"hq", args.hq}, {"hkv", args.hkv});
  if (in.error())
    return in.error();
  if (const char *wrong = checkRule("attention_grad", args))
    return wrong;
  if (args.causal && !args.positions.data && args.l != args.s)
    return fail("attention_grad: causal wants as many keys as queries, got "
                "%lld and %lld; or give the queries' positions",
                static_cast<long long>(args.s), static_cast<long long>(args.l));
  if (in.isOnDevice())
    return nullptr;
  if (args.positions.data)
    return checkPositions("attention_grad", args, args.s);
  return checkPlaces("attention_grad", args.places, args.b, args.l);
}

/// The attribute words of attention_grad_block.
template <typename T>
static const char *readBlockAttributes(const Call &call, Arguments &in,
                                       AttentionGradArgs<T> &args) {
  const char *op = in.operation();
  size_t next = 3;
  if (call.numAttrs < next)
    return fail("%s: expected at least 4 attribute words, got %zu; compile the "
                "program again with this version",
                op, call.numAttrs);
  args.causal = in.flag("causal");
  args.scale = in.real("scale");
  args.window = in.integer("window", 0);
  if (in.error())
    return in.error();
  if (const char *wrong = readRuns(op, call, next, "k_runs", args.kRuns))
    return wrong;
  in.expectAttributes(next);
  return in.error();
}

template <typename T>
const char *decodeBlock(const Call &call, AttentionGradArgs<T> &args) {
  using Acc = AccumulatorOf<T>;
  Arguments in(call, "attention_grad_block");
  if (const char *wrong = readBlockAttributes(call, in, args))
    return wrong;
  in.expectBuffers(12, 12, 3, 3);
  if (in.error())
    return in.error();
  Dim b = {"b"}, l = {"l"}, s = {"s"}, hq = {"hq"}, hkv = {"hkv"}, d = {"d"},
      e = {"e"};
  args.q = in.input<T>("q", {&b, &l, &hq, &d});
  args.k = in.input<T>("k", {&b, &s, &hkv, &d});
  args.v = in.input<T>("v", {&b, &s, &hkv, &e});
  args.out = in.input<T>("out", {&b, &l, &hq, &e});
  args.lse = in.input<Acc>("lse", {&b, &hq, &l});
  args.dout = in.input<T>("dout", {&b, &l, &hq, &e});
  args.dlse = in.optionalInput<Acc>("dlse", {&b, &hq, &l});
  args.places = in.optionalInput<int64_t>("places", {&b, &l});
  args.positions = in.optionalInput<int64_t>("positions", {&l});
  args.dqBefore = in.optionalInput<Acc>("dq before", {&b, &l, &hq, &d});
  args.dkBefore = in.optionalInput<Acc>("dk before", {&b, &s, &hkv, &d});
  args.dvBefore = in.optionalInput<Acc>("dv before", {&b, &s, &hkv, &e});
  if (!std::is_same_v<T, Acc> && call.outs[0].dtype == Element<Acc>::dtype)
    args.dqSum = in.output<Acc>("dq", {&b, &l, &hq, &d});
  else
    args.dq = in.output<T>("dq", {&b, &l, &hq, &d});
  args.dk = in.output<Acc>("dk", {&b, &s, &hkv, &d});
  args.dv = in.output<Acc>("dv", {&b, &s, &hkv, &e});
  in.expectDivides(hq, hkv);
  if (in.error())
    return in.error();
  args.b = b.size;
  args.l = l.size;
  args.s = s.size;
  args.hq = hq.size;
  args.hkv = hkv.size;
  args.d = d.size;
  args.e = e.size;
  if (const char *wrong = checkRule(in.operation(), args))
    return wrong;
  if (const char *wrong =
          checkRuns(in.operation(), args.kRuns, "k_runs", args.s))
    return wrong;
  if (args.causal && !args.positions.data)
    return fail("%s: causal wants the queries' positions", in.operation());
  // Of the keys that are elsewhere nothing is known here.
  return args.positions.data && !in.isOnDevice()
             ? checkPositions(in.operation(), args, INT64_MAX)
             : nullptr;
}

template <typename Acc>
const char *decode(const Call &call, AttentionMergeArgs<Acc> &args) {
  Arguments in(call, "attention_merge");
  in.expectAttributes(0);
  in.expectBuffers(4, 4, 2, 2);
  if (in.error())
    return in.error();
  Dim b = {"b"}, l = {"l"}, h = {"h"}, dv = {"dv"};
  for (int i = 0; i < 2; ++i) {
    args.parts[i] = in.input<Acc>("o", {&b, &l, &h, &dv});
    args.lses[i] = in.input<Acc>("lse", {&b, &h, &l});
  }
  if (!in.error() && std::is_same_v<Acc, float> &&
      call.outs[0].dtype == DType::BF16)
    args.rounded = in.output<BFloat16>("merged o", {&b, &l, &h, &dv});
  else
    args.o = in.output<Acc>("merged o", {&b, &l, &h, &dv});
  args.lse = in.output<Acc>("merged lse", {&b, &h, &l});
  args.b = b.size;
  args.l = l.size;
  args.h = h.size;
  args.dv = dv.size;
  return in.error();
}

template const char *decode(const Call &, AttentionArgs<float> &);
template const char *decode(const Call &, AttentionArgs<double> &);
template const char *decode(const Call &, AttentionArgs<BFloat16> &);
template const char *decode(const Call &, AttentionMergeArgs<float> &);
template const char *decode(const Call &, AttentionMergeArgs<double> &);

template const char *decode(const Call &, AttentionGradArgs<float> &);
template const char *decode(const Call &, AttentionGradArgs<double> &);
template const char *decode(const Call &, AttentionGradArgs<BFloat16> &);

template const char *decodeBlock(const Call &, AttentionGradArgs<float> &);
template const char *decodeBlock(const Call &, AttentionGradArgs<double> &);
template const char *decodeBlock(const Call &, AttentionGradArgs<BFloat16> &);

} // namespace cp::kernels
