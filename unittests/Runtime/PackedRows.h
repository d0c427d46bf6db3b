//===- PackedRows.h - Documents, and rows cut by them -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_PACKEDROWS_H
#define CP_UNITTESTS_RUNTIME_PACKEDROWS_H

#include "RandomCase.h"

#include <algorithm>

namespace cp::test {

/// The words of zigzag_per_document and contiguous_per_document.
inline constexpr int64_t perDocument = -1, blockPerDocument = -3;
inline bool isPerDocument(int64_t order) {
  return order == perDocument || order == blockPerDocument;
}

/// Ends of `count` documents, some of them empty, of a row of `length` tokens.
inline Sizes drawEnds(RandomCase &random, int64_t count, int64_t length) {
  Sizes ends = {0};
  for (int64_t i = 1; i < count; ++i)
    ends.push_back(random.draw(0, length));
  ends.push_back(length);
  std::sort(ends.begin(), ends.end());
  return ends;
}

/// `cu_seqlens`, of rows with as many numbers.
inline Array listsOf(const std::vector<Sizes> &rows) {
  Array lists({int64_t(rows.size()), int64_t(rows[0].size())});
  auto next = lists.values.begin();
  for (const Sizes &ends : rows)
    next = std::copy(ends.begin(), ends.end(), next);
  return lists;
}

/// Document by document, one token after the other.
inline Array placesOf(const std::vector<Sizes> &rows, int64_t length) {
  Array places({int64_t(rows.size()), length});
  auto next = places.values.begin();
  for (const Sizes &ends : rows)
    for (size_t i = 1; i < ends.size(); ++i)
      for (int64_t place = 0; place < ends[i] - ends[i - 1]; ++place)
        *next++ = double(place);
  return places;
}

/// Who of `ranks` has each token in contiguous order per document, token by
/// token: those beyond what ranks divide are dealt out, from document to
/// document.
inline Sizes blockHolders(const Sizes &ends, int64_t ranks) {
  Sizes holders;
  int64_t dealt = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    int64_t length = ends[i] - ends[i - 1];
    Sizes counts(size_t(ranks), length / ranks);
    for (int64_t left = length % ranks; left > 0; --left)
      ++counts[size_t(dealt++ % ranks)];
    for (int64_t position = 0; position < ranks; ++position)
      holders.insert(holders.end(), size_t(counts[size_t(position)]), position);
  }
  return holders;
}

/// The same in an order per document.
inline Sizes packedHolders(const Sizes &ends, int64_t ranks,
                           int64_t order = perDocument) {
  if (order == blockPerDocument)
    return blockHolders(ends, ranks);
  Sizes holders(size_t(ends.back())), rests;
  for (size_t i = 1; i < ends.size(); ++i) {
    int64_t half = (ends[i] - ends[i - 1]) / (2 * ranks);
    for (int64_t token = ends[i - 1]; token < ends[i]; ++token) {
      int64_t at = token - ends[i - 1];
      if (at >= 2 * ranks * half)
        rests.push_back(token);
      else
        holders[size_t(token)] = std::min(at / half, 2 * ranks - 1 - at / half);
    }
  }
  for (size_t i = 0; i < rests.size(); ++i)
    holders[size_t(rests[i])] = int64_t(i) * ranks / int64_t(rests.size());
  return holders;
}

/// What `position` of `ranks` has of an array along `dim`, by element of its
/// first dimension.
inline Array packedPart(const Array &whole, int64_t dim,
                        const std::vector<Sizes> &rows, int64_t ranks,
                        int64_t position, int64_t order = perDocument) {
  Sizes sizes = whole.sizes;
  sizes[size_t(dim)] /= ranks;
  Array part(sizes);
  int64_t inner = product({whole.sizes.begin() + dim + 1, whole.sizes.end()});
  int64_t between =
      product({whole.sizes.begin() + 1, whole.sizes.begin() + dim});
  auto next = part.values.begin();
  auto from = whole.values.begin();
  for (const Sizes &ends : rows) {
    Sizes holders = packedHolders(ends, ranks, order);
    for (int64_t i = 0; i < between; ++i)
      for (int64_t holder : holders) {
        if (holder == position)
          next = std::copy(from, from + inner, next);
        from += inner;
      }
  }
  return part;
}

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_PACKEDROWS_H
