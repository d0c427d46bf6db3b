//===- Documents.h - Several sequences in one row ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_DOCUMENTS_H
#define CP_UNITTESTS_KERNELS_DOCUMENTS_H

#include "Support.h"

#include <algorithm>

namespace cp::kernels::test {

/// A row of a batch that holds documents one behind the other.
class Documents {
public:
  /// Of any lengths, around those at which kernels change their ways too. The
  /// first one may have begun before the row does; at the end there may be rows
  /// without a token.
  Documents(int64_t length, Random &random) : length(length) {
    tokens = pick(random, 0, 2) ? length : pick(random, 0, length);
    begins = {pick(random, 0, 2) ? 0 : -pick(random, 1, 5)};
    const int64_t usual[] = {1, 2, 3, 17, 63, 64, 65, 128};
    for (;;) {
      int64_t next =
          begins.back() + (pick(random, 0, 2) ? usual[pick(random, 0, 7)]
                                              : pick(random, 1, length + 1));
      if (next >= tokens)
        break;
      if (next >= 0)
        begins.push_back(next);
    }
  }

  /// The document that row t is of, or -1.
  int64_t of(int64_t t) const {
    if (t >= tokens)
      return -1;
    return std::upper_bound(begins.begin(), begins.end(), t) - begins.begin() -
           1;
  }
  int64_t count() const { return int64_t(begins.size()); }
  /// Rows [begin, end) of a document, of which the first one's begin may be
  /// below 0.
  int64_t begin(int64_t document) const { return begins[size_t(document)]; }
  int64_t end(int64_t document) const {
    return document + 1 < count() ? begin(document + 1) : tokens;
  }
  int64_t placeOf(int64_t t) const { return of(t) < 0 ? -1 : t - begin(of(t)); }

  int64_t length, tokens;

private:
  std::vector<int64_t> begins;
};

/// Documents of each element of a batch, and what kernels are given of them.
struct Batch {
  std::vector<Documents> rows;
  Tensor<int64_t> places;

  Batch() = default;
  Batch(int64_t batch, int64_t length, Random &random)
      : places({batch, length}, pickLay(random), random) {
    for (int64_t b = 0; b < batch; ++b) {
      rows.emplace_back(length, random);
      for (int64_t t = 0; t < length; ++t)
        places(b, t) = rows.back().placeOf(t);
    }
  }
  bool isEmpty() const { return rows.empty(); }
  const Documents &operator[](int64_t b) const { return rows[size_t(b)]; }
  /// The row where the sequence of row t begins, or less where it has begun
  /// before; without documents, all is one that has.
  int64_t beginAt(int64_t b, int64_t t) const {
    return isEmpty() ? -1 : t - (*this)[b].placeOf(t);
  }
  bool hasToken(int64_t b, int64_t t) const {
    return isEmpty() || (*this)[b].of(t) >= 0;
  }
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_DOCUMENTS_H
