//===- Stream.cpp - Tensors in pieces -------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"

#include "cp/Layout/Parts.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace cp {

/// Whether no rank before this one has the same part.
static bool isFirstReplica(const Layout &layout, int64_t rank) {
  std::vector<char> cuts(layout.mesh.axes.size(), 0);
  for (const auto &dim : layout.dims)
    for (const Cut &cut : dim)
      cuts[size_t(cut.axis)] = 1;
  for (size_t axis = 0; axis < cuts.size(); ++axis)
    if (!cuts[axis] && layout.mesh.coordinate(rank, int(axis)) != 0)
      return false;
  return true;
}

namespace {
/// Puts bytes of parts where they are in the whole, and keeps the first error.
class Placer {
public:
  Placer(const TensorSpec &spec, std::optional<Session::PutBytes> put)
      : spec(spec), put(put) {}

  /// The bytes of a rank's part from `begin` on.
  void place(int64_t rank, int64_t begin, llvm::ArrayRef<uint8_t> bytes) {
    if (!put || failed || !isFirstReplica(spec.layout, rank))
      return;
    auto end = begin + int64_t(bytes.size());
    PartWalker(spec.layout, spec.shape, rank, dtypeBytes(spec.dtype))
        .walk([&](int64_t to, int64_t from, int64_t size) {
          int64_t first = std::max(from, begin),
                  last = std::min(from + size, end);
          if (first >= last || failed)
            return;
          llvm::Error error =
              (*put)(to + first - from,
                     bytes.slice(size_t(first - begin), size_t(last - first)));
          if (!error)
            return;
          failed = true;
          why = llvm::toString(std::move(error));
        });
  }
  llvm::Error finish() const {
    return failed ? llvm::createStringError(why) : llvm::Error::success();
  }

private:
  const TensorSpec &spec;
  std::optional<Session::PutBytes> put;
  bool failed = false;
  std::string why;
};
} // namespace

llvm::Error Session::Impl::stream(const TensorSpec &spec, PartOfRank partOf,
                                  std::optional<PutBytes> put) const {
  Placer placer(spec, put);
  if (world->hasAll() || isWhole(spec)) {
    // What is whole on every rank, the first one here has too.
    if (isWhole(spec))
      placer.place(0, 0, partOf(world->ranksHere().front()));
    else
      for (int64_t rank : world->ranksHere())
        placer.place(rank, 0, partOf(rank));
    return placer.finish();
  }
  int64_t piece = std::max<int64_t>(pieceBytes / world->numRanks(), 1);
  llvm::ArrayRef<uint8_t> mine = partOf(world->ranksHere().front());
  for (int64_t begin = 0; begin < int64_t(mine.size()); begin += piece) {
    int64_t size = std::min(piece, int64_t(mine.size()) - begin);
    llvm::Expected<std::vector<Bytes>> all =
        world->gather(mine.slice(size_t(begin), size_t(size)));
    if (!all)
      return all.takeError();
    for (auto [rank, bytes] : llvm::enumerate(*all))
      placer.place(int64_t(rank), begin, bytes);
  }
  return placer.finish();
}

llvm::Error Session::stream(llvm::StringRef name,
                            std::optional<PutBytes> put) const {
  llvm::Expected<size_t> number = impl->find(name);
  if (!number)
    return number.takeError();
  const Impl::Argument &argument = impl->arguments[*number];
  if (!argument.shared && argument.parts.empty())
    return impl->neverSet(argument);
  if (llvm::Error error = impl->fetchArgument(*number))
    return error;
  return impl->stream(
      argument.spec,
      [&](int64_t rank) -> llvm::ArrayRef<uint8_t> {
        return argument.shared ? argument.shared->bytes
                               : argument.parts[size_t(rank)].bytes;
      },
      put);
}

llvm::Error Session::streamResult(llvm::StringRef name,
                                  std::optional<PutBytes> put) const {
  llvm::Expected<size_t> number = impl->findResult(name);
  if (!number)
    return number.takeError();
  if (llvm::Error error = impl->fetchResult(*number))
    return error;
  const std::vector<HostTensor> &parts = impl->last->results[*number];
  return impl->stream(
      impl->last->program->results()[*number],
      [&](int64_t rank) -> llvm::ArrayRef<uint8_t> {
        return parts[size_t(rank)].bytes;
      },
      put);
}

} // namespace cp
