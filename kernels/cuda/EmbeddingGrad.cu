//===- EmbeddingGrad.cu - The adjoint of rows by their ids ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Moves.h"
#include "OpArguments.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {

/// Of each id the first row that has it, and how many do.
struct IdUses {
  static constexpr int none = 0x7fffffff;

  int *first, *count;
};

template <typename T> struct Clear {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  View<T, 2> to;
  int64_t rows, columns;
  IdUses uses;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    if (element < rows * columns)
      *at(to, element / columns, element % columns) = T(0);
    if (element < rows) {
      uses.first[element] = IdUses::none;
      uses.count[element] = 0;
    }
  }
};

/// A thread for each row of dy.
template <typename Id> struct FindUses {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  const Id *ids;
  MoveShape rows; // `from` of ids
  int64_t count, numIds;
  IdUses uses;
  int64_t *fault;

  CP_DEVICE void operator()() const {
    int64_t row = int64_t(blockX()) * threads + thread();
    if (row >= count)
      return;
    int64_t source, target;
    rows.find(row, source, target);
    int64_t id = ids[source];
    if (id < 0 || id >= numIds)
      return noteFault(fault, Fault::Id, row, id);
    atomicLeast(&uses.first[id], int(row));
    atomicCount(&uses.count[id]);
  }
};

/// A block for each row of dy. The first with an id adds up all that have it,
/// in their order: so no two blocks write one row of the table, and sums are
/// always the same. So many rows at a time are a part of the sum, which rounds
/// less where an id has many.
template <typename T, typename Id> struct ScatterRows {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  /// Columns of a thread.
  static constexpr int each = 4;
  using Acc = AccumulatorOf<T>;
  struct Shared {
    uint32_t votes[warps];
  };

  EmbeddingGradShape<T> shape;
  const Id *ids;
  const T *dy;
  MoveShape rows; // `from` of ids, `to` of dy
  int64_t step;
  IdUses uses;

  CP_DEVICE void operator()() const {
    int64_t row = blockX(), id = idOf(row);
    if (id < 0 || id >= shape.v || uses.first[id] != row)
      return;
    uint32_t *votes = shared<Shared>().votes;
    Acc sums[each] = {};
    int missing = uses.count[id];
    for (int64_t begin = row; missing > 0; begin += threads) {
      int64_t other = begin + thread();
      if (!anyOf(votes, other < shape.rows && idOf(other) == id))
        continue;
      Acc parts[each] = {};
      for (int i = 0; i < warps; ++i)
        for (uint32_t left = sharedLoad(&votes[i]); left; left &= left - 1) {
          add(begin + i * warpSize + firstBit(left), parts);
          --missing;
        }
      CP_UNROLL
      for (int i = 0; i < each; ++i)
        sums[i] += parts[i];
      barrier();
    }
    CP_UNROLL
    for (int i = 0; i < each; ++i)
      if (columnAt(i) < shape.d)
        *at(shape.dtable, id, columnAt(i)) = sums[i];
  }

private:
  CP_DEVICE int64_t idOf(int64_t row) const {
    int64_t source, target;
    rows.find(row, source, target);
    return ids[source];
  }
  /// Whether it is so in any thread; where it is, the votes of warps stay until
  /// the next barrier.
  CP_DEVICE static bool anyOf(uint32_t *votes, bool value) {
    uint32_t mine = vote(value);
    if (lane() == 0)
      sharedStore(&votes[warp()], mine);
    barrier();
    uint32_t any = 0;
    CP_UNROLL
    for (int i = 0; i < warps; ++i)
      any |= sharedLoad(&votes[i]);
    if (!any)
      barrier();
    return any;
  }
  CP_DEVICE static int64_t columnAt(int i) {
    return (int64_t(blockY()) * each + i) * threads + thread();
  }
  CP_DEVICE void add(int64_t row, Acc (&sums)[each]) const {
    int64_t source, target;
    rows.find(row, source, target);
    CP_UNROLL
    for (int i = 0; i < each; ++i)
      if (columnAt(i) < shape.d)
        sums[i] += widened(dy[target + columnAt(i) * step]);
  }
};

constexpr char op[] = "embedding_grad";

template <typename T, typename Id>
const char *scatter(const EmbeddingGradBuffers<T> &args, const IdUses &uses,
                    void *stream) {
  using Find = FindUses<Id>;
  using Kernel = ScatterRows<T, Id>;
  const Buffer &ids = *args.ids, &dy = *args.dy;
  const auto *of = static_cast<const Id *>(ids.data);
  MoveShape rows;
  for (int i = 0; i < ids.rank; ++i)
    rows.add(ids.sizes[i], ids.strides[i], dy.strides[i]);
  if (const char *message =
          launch(op, Find{of, rows, args.rows, args.v, uses, faultRecord()},
                 {ceilDiv(args.rows, Find::threads)}, stream))
    return message;
  return launch(op,
                Kernel{args, of, static_cast<const T *>(dy.data), rows,
                       dy.strides[dy.rank - 1], uses},
                {args.rows, ceilDiv(args.d, Kernel::threads * Kernel::each)},
                stream);
}

} // namespace

template <typename T>
const char *embeddingGrad(const Call &call, void *stream) {
  EmbeddingGradBuffers<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  Workspace workspace(stream);
  auto *words =
      static_cast<int *>(workspace.allocate(size_t(2 * args.v) * sizeof(int)));
  if (!words)
    return outOfMemory(op);
  const IdUses uses = {words, words + args.v};
  using Fill = Clear<AccumulatorOf<T>>;
  int64_t elements = args.v * std::max<int64_t>(args.d, 1);
  if (const char *message = launch(op, Fill{args.dtable, args.v, args.d, uses},
                                   {ceilDiv(elements, Fill::threads)}, stream))
    return message;
  return args.ids->dtype == DType::I32
             ? scatter<T, int32_t>(args, uses, stream)
             : scatter<T, int64_t>(args, uses, stream);
}

template const char *embeddingGrad<float>(const Call &, void *);
template const char *embeddingGrad<double>(const Call &, void *);
template const char *embeddingGrad<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
