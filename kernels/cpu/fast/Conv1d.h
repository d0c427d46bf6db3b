//===- fast/Conv1d.h - Fast causal convolution ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CONV1D_H
#define CP_KERNELS_CPU_FAST_CONV1D_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// A few tokens at a time, vectors over a block of the channels: the block's
/// weights and the rows of the window stay in a cache, and each input is read
/// once from memory.
template <typename Isa, typename T> class Conv1d {
public:
  static const char *run(const Call &call) {
    Conv1dArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = ceilDiv(args.l, blockTokens);
    return share(args.b * blocks, args.b * args.l * args.c * args.w,
                 [&](Items &items) -> const char * {
                   Conv1d conv(args);
                   if (!conv.allocate())
                     return outOfMemory("conv1d");
                   for (int64_t i; items.take(i);) {
                     int64_t first = i % blocks * blockTokens;
                     conv.block(i / blocks, first,
                                least(args.l, first + blockTokens));
                   }
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr int64_t line = 64 / sizeof(T);
  /// Far more than the window that two blocks both read.
  static constexpr int64_t blockTokens = 128;
  /// Tokens that go by together.
  static constexpr int together = V::together;
  /// Weights, window and what is fetched ahead share the second cache, and
  /// memory delivers long parts of rows faster.
  static constexpr int64_t blockChannels = 24576 / sizeof(T);
  /// How many rows ahead inputs are fetched: their parts lie too far apart for
  /// the processor to foresee the next.
  static constexpr int64_t rowsAhead = 4;

  /// The channels and tokens that go by.
  struct Part {
    int64_t b, firstToken, endToken, begin, end;
  };

  explicit Conv1d(const Conv1dArgs<T> &args)
      : args(args), ld(roundUp(args.c, V::lanes)), rows(args.w - 1 + together),
        isDense(args.x.strides[2] == 1 && args.y.strides[2] == 1 &&
                (!args.initial.data || args.initial.strides[2] == 1)),
        mayStream(Isa::streams && isDense && args.y.strides[1] % line == 0 &&
                  args.l * args.c * int64_t(sizeof(T)) >= leastStreamed) {}

  bool allocate() {
    void *memory =
        scratch(Slot::Kernel, carved<Acc>(args.w * ld) + carved<T>(rows * ld) +
                                  carved<Acc>(ld) + carved<T>(ld) +
                                  carved<T>(together * ld) +
                                  2 * carved<const T *>(rows));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.w * ld);
    copies = carver.take<T>(rows * ld);
    bias = carver.take<Acc>(ld);
    zeros = carver.take<T>(ld);
    results = carver.take<T>(together * ld);
    window = carver.take<const T *>(rows);
    ownWindow = carver.take<const T *>(rows);
    Pack<Isa, T>::transposed(
        {args.weight.data, args.weight.strides[0], args.weight.strides[1]},
        args.c, args.w, ld, weights, ld);
    for (int64_t c = 0; c < ld; ++c) {
      bias[c] = 0;
      zeros[c] = T(0);
    }
    if (args.bias.data)
      Pack<Isa, T>::rows({args.bias.data, 0, args.bias.strides[0]}, 1, args.c,
                         ld, bias, ld);
    return true;
  }

  /// Input row t as contiguous channels. A row that is strided is copied to the
  /// place of the one that has just left the window.
  const T *row(int64_t b, int64_t t) {
    if (t < 0 && !args.initial.data)
      return zeros;
    const View<const T, 3> &from = t < 0 ? args.initial : args.x;
    int64_t index = t < 0 ? t + args.w - 1 : t;
    if (from.strides[2] == 1)
      return from.at(b, index);
    T *copy = copies + (t + rows) % rows * ld;
    Pack<Isa, T, T>::rows({from.at(b, index), 0, from.strides[2]}, 1, args.c,
                          ld, copy, ld);
    return copy;
  }

  void block(int64_t b, int64_t first, int64_t end) {
    auto address = reinterpret_cast<size_t>(args.y.at(b, first));
    isStreamed = mayStream && address % sizeof(T) == 0;
    lead = isStreamed ? int64_t(-address / sizeof(T) % line) : 0;
    int64_t step = isDense ? lead + blockChannels : args.c;
    for (int64_t c = 0; c < args.c;) {
      int64_t next = least(args.c, c + step);
      tokens({b, first, end, c, next});
      c = next;
      step = blockChannels;
    }
    V::finishStreams();
  }

  void tokens(const Part &part) {
    for (int64_t k = 0; k + 1 < args.w; ++k)
      window[k] = row(part.b, part.firstToken + k - (args.w - 1));
    for (int64_t t = part.firstToken; t < part.endToken;) {
      int64_t count = numTogether(part, t);
      for (int64_t i = 0; i < count; ++i) {
        window[args.w - 1 + i] = row(part.b, t + i);
        fetched[i] = later(part, t + i);
      }
      bool isDirect = args.y.strides[2] == 1;
      outputs(part, t, count, isDirect ? args.y.at(part.b, t) : results,
              isDirect ? args.y.strides[1] : ld);
      for (int64_t i = 0; i < count && !isDirect; ++i)
        for (int64_t c = 0; c < args.c; ++c)
          *args.y.at(part.b, t + i, c) = results[i * ld + c];
      for (int64_t k = 0; k + 1 < args.w; ++k)
        window[k] = window[count + k];
      t += count;
    }
  }

  /// Of the tokens [t, t + count), of which the first one's window is there.
  void outputs(const Part &part, int64_t t, int64_t count, T *to,
               int64_t stride) {
    int64_t before = rowsBefore(part.b, t);
    const T **all = window;
    if (before < args.w - 1)
      window = seenWindow(before);
    if (before < 0)
      for (int64_t c = part.begin; c < part.end; ++c)
        to[c] = T(0);
    else
      count == 1 ? ofWidth<1>(part, to, stride)
                 : ofWidth<together>(part, to, stride);
    window = all;
  }

  /// How many rows before its own token t reads: those of its own sequence. -1
  /// where there is no token.
  int64_t rowsBefore(int64_t b, int64_t t) const {
    return args.places.data ? least(args.w - 1, *args.places.at(b, t))
                            : args.w - 1;
  }

  /// How many tokens from t on go by together: all, where each reads all of the
  /// rows before it.
  int64_t numTogether(const Part &part, int64_t t) const {
    if (part.endToken - t < together)
      return 1;
    for (int64_t i = 0; i < together && args.places.data; ++i)
      if (rowsBefore(part.b, t + i) < args.w - 1)
        return 1;
    return together;
  }

  /// The window of a token that reads `before` rows, with zeros for the others.
  const T **seenWindow(int64_t before) const {
    for (int64_t k = 0; k < args.w; ++k)
      ownWindow[k] = k < args.w - 1 - before ? zeros : window[k];
    return ownWindow;
  }

  /// What is to be fetched while token t goes by, where that has the part's
  /// first channel. After the last token come the first ones' next channels.
  const T *later(const Part &part, int64_t t) const {
    bool isWithin = t + rowsAhead < part.endToken;
    if (isWithin)
      return args.x.at(part.b, t + rowsAhead, part.begin);
    t += rowsAhead - part.endToken + part.firstToken;
    return args.x.at(part.b, least(t, part.endToken - 1),
                     least(part.end, args.c - 1));
  }

  template <int N> void ofWidth(const Part &part, T *to, int64_t stride) const {
    if (args.w == 4)
      return channels<4, N>(part, to, stride);
    if (args.w == 3)
      return channels<3, N>(part, to, stride);
    if (args.w == 2)
      return channels<2, N>(part, to, stride);
    channels<0, N>(part, to, stride);
  }

  /// `Width` is w, or 0 for any. Results that fill whole lines of a cache go
  /// past it when it could not hold them anyway.
  template <int Width, int N>
  void channels(const Part &part, T *to, int64_t stride) const {
    int64_t c = part.begin, aligned = c == 0 ? least(lead, part.end) : c;
    for (; c < aligned; c += V::lanes)
      edge<N>(to, stride, c, least(V::lanes, aligned - c));
    c = aligned;
    constexpr int64_t step = line > V::lanes ? line : V::lanes;
    for (; isStreamed && c + step <= part.end; c += step)
      for (int64_t i = 0; i < step; i += V::lanes)
        whole<Width, N, true>(part, to, stride, c + i);
    for (; c + V::lanes <= part.end; c += V::lanes)
      whole<Width, N, false>(part, to, stride, c);
    if (c < part.end)
      edge<N>(to, stride, c, part.end - c);
  }

  /// A vector of channels of N tokens.
  template <int Width, int N, bool Streamed>
  [[gnu::always_inline]] void whole(const Part &part, T *to, int64_t stride,
                                    int64_t c) const {
    Type sums[N];
    V::template each<N>([&](int i) {
      __builtin_prefetch(fetched[i] + c - part.begin);
      sums[i] = V::load(bias + c);
    });
    if constexpr (Width > 0) {
      Type rows[Width - 1 + N];
      V::template each<Width - 1 + N>(
          [&](int i) { rows[i] = V::load(window[i] + c); });
      V::template each<Width>([&](int k) {
        Type factor = V::load(weights + k * ld + c);
        V::template each<N>([&](int i) { sums[i] += factor * rows[i + k]; });
      });
    }
    for (int64_t k = 0; k < args.w && !Width; ++k)
      V::template each<N>([&](int i) {
        sums[i] += V::load(weights + k * ld + c) * V::load(window[i + k] + c);
      });
    if (args.silu)
      VecMath<Isa, Acc>::silu(sums);
    V::template each<N>([&](int i) {
      V::template put<Streamed>(to + i * stride + c, sums[i]);
    });
  }

  /// `lanes` channels, at most a vector.
  template <int N>
  void edge(T *to, int64_t stride, int64_t c, int64_t lanes) const {
    for (int64_t i = 0; i < N; ++i) {
      Type sum = V::loadPart(bias + c, lanes);
      for (int64_t k = 0; k < args.w; ++k)
        sum += V::loadPart(weights + k * ld + c, lanes) *
               V::loadPart(window[i + k] + c, lanes);
      V::storePart(to + i * stride + c,
                   args.silu ? VecMath<Isa, Acc>::silu(sum) : sum, lanes);
    }
  }

  const Conv1dArgs<T> &args;
  int64_t ld, rows;
  /// Whether channels lie next to each other in all inputs and results.
  bool isDense;
  bool mayStream;
  /// Whether the block's results are streamed, and how many channels come
  /// before the first whole line of them.
  bool isStreamed;
  int64_t lead;
  Acc *weights, *bias;
  T *copies, *zeros, *results;
  /// The last rows, and in their place, while it goes by, those that a token of
  /// few predecessors reads.
  const T **window, **ownWindow;
  const T *fetched[together];
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1D_H
