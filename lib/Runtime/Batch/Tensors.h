//===- Tensors.h - What a batch gives ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_TENSORS_H
#define CP_LIB_RUNTIME_BATCH_TENSORS_H

#include "Move.h"

#include <map>

namespace cp::batch {

/// A tensor of padded rows.
struct Stored {
  cprt_dtype dtype = CPRT_ABSENT;
  std::vector<int64_t> shape;
  /// -1: every rank has all of it.
  int sequenceDim = -1;
  std::vector<char> bytes;
};
using Tensors = std::map<std::string, Stored, std::less<>>;

/// The shape of `tensor` with other rows and tokens. Where rows are cut all in
/// one way, their dimension stays as it is.
std::vector<int64_t> shapeWith(const cprt_batch_tensor &tensor, int sequenceDim,
                               int64_t rows, int64_t tokens, bool isUniform);

/// What becomes of one of the caller's tensors, without its bytes. Error
/// batch_c3.
Error outline(const Field &field, const Stream &stream, Stored &stored,
              View &view);
/// And with them. Errors batch_c1 and batch_c3.
Error pad(const Field &field, const Stream &stream, const Options &options,
          Stored &stored);

/// Pads and packs the caller's tensors. Errors batch_c1 and batch_c3.
Error makeTensors(const Fields &fields, const Stream &stream,
                  const Options &options, Tensors &tensors);

/// Makes `labels` and `position_ids` what they have to be, in the caller's or,
/// where those are missing, in new ones.
void finishTokens(const Stream &stream, const Options &options,
                  Tensors &tensors);

/// Adds padding_mask, cu_seqlens, cu_seqlens_padded, max_seqlen and indices.
void describeRows(const Stream &stream, Tensors &tensors);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_TENSORS_H
