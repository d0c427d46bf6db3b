//===- Documents.h - Elements of packed documents ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a position holds of a packed row in an order per document: each document
// is cut by itself. In zigzag_per_document each rank has an early and a late
// part of every one and as much attention as the others, but for rests, fewer
// than 2R tokens of a document, which are dealt in blocks. (NVIDIA
// TransformerEngine cuts packed rows so, of documents that 2R divides, and
// MindSpeed-MM's packed split as contiguous_per_document.)
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_DOCUMENTS_H
#define CP_LAYOUT_DOCUMENTS_H

#include "cp/Layout/Runs.h"

#include <cstdint>
#include <vector>

namespace cp {

/// One row of `cu_seqlens`, which it does not own: document i of the row has
/// the elements at(i) to at(i + 1) - 1. It begins with 0 and does not fall.
class Documents {
public:
  Documents(const int32_t *data, int64_t stride, int64_t entries)
      : data(data), stride(stride), entries(entries) {}

  int64_t at(int64_t i) const { return data[i * stride]; }
  /// How many numbers there are, one more than documents.
  int64_t numEntries() const { return entries; }

private:
  const int32_t *data;
  int64_t stride, entries;
};

/// Appends to `runs`, which is empty, what `position` of `ranks` holds of the
/// row in `order`, which is one per document, in ascending order, with one run
/// for neighbours. Where R divides the row all positions have as many elements.
///
/// In zigzag_per_document of a document of n elements the first n - n mod 2R
/// are cut in zigzag order. The rests of all documents, behind each other, are
/// shared out in as many blocks as there are ranks. For 2 ranks, each run as
/// global:local:length:
///   cu_seqlens  position 0                           1
///   0 8         0:0:2, 6:2:2                         2:0:4
///   0 4 8       0:0:1, 3:1:2, 7:3:1                  1:0:2, 5:2:2
///   0 5 8       0:0:1, 3:1:3                         1:0:2, 6:2:2
///   0 2 2 8     0:0:3, 5:3:1                         3:0:2, 6:2:2
/// In contiguous_per_document each document is cut into R blocks. Of n elements
/// n mod R blocks are one longer: that of the position behind the last that had
/// a longer one, or position 0's, and those of the next, in turn. So a first
/// document has its remainder first. For 3 ranks:
///   cu_seqlens  position 0      1               2
///   0 10 27     0:0:4, 10:4:5   4:0:3, 15:3:6   7:0:3, 21:3:6
///   0 1 2 3     0:0:1           1:0:1           2:0:1
void appendRuns(const Documents &documents, Order order, int64_t ranks,
                int64_t position, std::vector<Run> &runs);

} // namespace cp

#endif // CP_LAYOUT_DOCUMENTS_H
