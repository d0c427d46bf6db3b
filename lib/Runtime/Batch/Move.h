//===- Move.h - Tensors of tokens, there and back ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_MOVE_H
#define CP_LIB_RUNTIME_BATCH_MOVE_H

#include "Stream.h"

namespace cp::batch {

/// A tensor as the moves see it: `outer` groups of `rows` rows of tokens, each
/// of which is `bytes` long.
struct View {
  int64_t outer, rows, bytes;
};

/// The view of a tensor whose tokens are in `sequenceDim`. It must have `rows`
/// rows of `tokens` tokens, in the words of `where`; where `isUniform`, any
/// number of rows, which are then among `outer`. Errors batch_c3.
Error viewOf(const cprt_batch_tensor &tensor, int sequenceDim, int64_t rows,
             int64_t tokens, bool isUniform, const std::string &where,
             View &view);

/// Error batch_c2: more than 2^40 bytes with rows of so many tokens.
Error checkSize(const View &view, int64_t tokens, const std::string &where);

/// The caller's tokens in one group of rows.
int64_t originalTokens(const Stream &stream);

/// The caller's rows to padded ones. `fill` is one element of `elementBytes`.
void padRows(const Stream &stream, const View &view, const char *rows,
             const void *fill, size_t elementBytes, char *padded);
/// Padded rows to what `rank` holds of them.
void takePart(const Stream &stream, const View &view, const char *padded,
              int64_t rank, char *part);
/// Its inverse; the parts of all ranks make all of `padded`.
void putPart(const Stream &stream, const View &view, const char *part,
             int64_t rank, char *padded);
/// Padded rows to the caller's, which begin as zeros.
void unpadRows(const Stream &stream, const View &view, const char *padded,
               char *rows);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_MOVE_H
