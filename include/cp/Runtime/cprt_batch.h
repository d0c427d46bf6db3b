//===- cprt_batch.h - Batches padded, packed and cut ------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11, on the host only, without a world: from the rows of a batch, as
// data loaders make them, to what each rank that shares their tokens is given,
// and back. A batch is made once, of all its tensors, and remembers how they
// were padded, packed and cut, so that gathering cannot disagree with
// splitting. Every process makes it from the same tensors and takes its own
// rank's part; nothing is sent.
//
//   cprt_batch_options options = {0};
//   options.struct_size = sizeof(options);
//   options.ranks = 4;
//   options.order = CPRT_BATCH_ZIGZAG;
//   options.format = CPRT_BATCH_THD;
//   options.shift_labels = 1;
//   cprt_batch_create(&options, tensors, 2, &batch, message, sizeof(message));
//   cprt_batch_get(batch, "input_ids", rank, &ids, memory, bytes, ...);
//   ...
//   cprt_batch_gather(batch, logits, 0, &whole, memory, bytes, ...);
//   cprt_batch_destroy(batch);
//
// Tensors that are known by their names, of B rows of S tokens; all the others
// are cut along the dimension that they name:
//
//   input_ids         [B, S]     padded with padding_id
//   inputs_embeds     [B, S, H]  padded with 0
//   labels            [B, S]     -100 where there is no token
//   loss_mask         [B, S]     of the labels, with which it is shifted; 0
//                                where there is no token
//   position_ids      [B, S], [1, S] or [k, B, S]; counted on in padding. Made,
//                     from 0 in each document, where there are none
//   attention_mask, padding_mask
//                     [B, S]     of 0 and 1, and right padding only: where
//                     tokens end, if seq_lens does not say it
//   seq_lens          [B, n]     the tokens of each document of a row
//   seq_lens_padded   [B, n]     what each takes of the row, padding included;
//                     seq_lens alone says that nothing is between documents
//
// What the caller's own rows have where seq_lens or a mask says that there is
// no token stays there, but for labels and loss_mask.
//
// What a batch gives, T tokens a row, beside the tensors above (but the last
// four) and those of other names:
//
//   padding_mask       [rows, T]      1 where there is no token, by lengths,
//                      never by a token's value
//   cu_seqlens_padded  [rows, n + 1]  where documents begin in memory. It ends
//                      with T, which is repeated: what is behind the last
//                      document is one more. Compiled programs take this one
//   cu_seqlens         [rows, n + 1]  sums of their tokens alone
//   max_seqlen         [rows]         the longest document, padding included,
//                      and what is behind the last one
//   indices            [rows, T]      for each token of a rank, in its order,
//                      its place in the padded row
//
// All of i32 but indices and position_ids that are made, of i64.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_BATCH_H
#define CP_RUNTIME_CPRT_BATCH_H

#include "cp/Runtime/cprt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cprt_batch cprt_batch;

typedef enum cprt_batch_format {
  /// Row for row.
  CPRT_BATCH_BSHD = 0,
  /// The rows end to end: one row, or `chunks` of them, each of B / chunks.
  CPRT_BATCH_THD = 1
} cprt_batch_format;

/// Which tokens of a row, or of each document, rank r of R holds.
typedef enum cprt_batch_order {
  /// Block r of R.
  CPRT_BATCH_CONTIGUOUS = 0,
  /// Blocks r and 2R-1-r of 2R.
  CPRT_BATCH_ZIGZAG = 1,
  /// The runs r, r+R, r+2R, ... of `unit` tokens.
  CPRT_BATCH_STRIPED = 2
} cprt_batch_order;

/// Set `struct_size` to sizeof(cprt_batch_options), and `ranks`; zero means the
/// default elsewhere. As for cprt_options, newer fields go behind the last.
typedef struct cprt_batch_options {
  size_t struct_size;
  /// How many ranks share the tokens of a row, R.
  int64_t ranks;
  cprt_batch_order order;
  cprt_batch_format format;
  /// Tokens of a run of the striped order; 0 means 1.
  int64_t unit;
  /// Each document is cut in that order by itself, as TransformerEngine does,
  /// and not the row. Compiled programs take rows.
  int32_t per_document;
  /// The rank's part is a multiple of this many tokens; 0 means 1. Rows are
  /// padded to it, and with per_document documents whose seq_lens_padded is not
  /// given. One rank pads nothing by default, a zigzag order to 2R.
  int64_t pad_multiple;
  /// Tokens of a row; 0 means the least that holds all.
  int64_t length;
  /// Rows of CPRT_BATCH_THD; 0 means 1. Must divide B.
  int64_t chunks;
  /// n, documents that a row can hold, what is behind the last included; 0
  /// means what this batch needs.
  int64_t documents;
  int64_t padding_id;
  /// Entries of seq_lens and seq_lens_padded that stand for none; 0 means
  /// -1000.
  int64_t sentinel;
  /// Labels are those of each token itself, or missing, and become those of the
  /// next one of its document; a document's last is -100. Otherwise they are
  /// taken as they are. Without input_ids there are none to make labels of.
  int32_t shift_labels;
} cprt_batch_options;

#define CPRT_BATCH_MAX_RANK 8
/// In place of a rank: the whole padded tensor.
#define CPRT_BATCH_WHOLE (-1)

/// A tensor in row-major order without gaps.
typedef struct cprt_batch_tensor {
  /// Terminated. What a batch gives has its own, which live as long.
  const char *name;
  cprt_dtype dtype;
  int32_t rank;
  int64_t shape[CPRT_BATCH_MAX_RANK];
  const void *data;
  /// The dimension of tokens, -1 in what a batch gives without; of tensors that
  /// are known by their names it is not read. The rows are the dimension before
  /// it. Where the order cuts rows and they are not packed, all are cut in one
  /// way, and other dimensions may stand there, or none.
  int32_t sequence_dim;
  /// One element for padding; null means 0. Not read of tensors that are known
  /// by their names either.
  const void *fill;
} cprt_batch_tensor;

/// Makes a batch of `count` tensors, which are copied. Errors, in `message`
/// (when not null, at most `capacity` bytes, terminated) with the tensor, the
/// row and what to do; `*batch` is null then. CPRT_OUT_OF_MEMORY, or
/// CPRT_INVALID_ARGUMENT:
///   batch_c1   options outside their ranges, an unknown format
///   batch_c2   a tensor without a name or data, two of one name, a type or
///              number of dimensions that its name does not have, more than
///              2^40 elements or bytes
///   batch_c3   rows or tokens of two tensors that differ; no tokens at all
///   batch_c4   lengths: below 0, more tokens than places, in one of the two
///              lists only, beyond the row
///   batch_c5   masks: not 0 or 1, left padding or holes, other than seq_lens
///   batch_c6   what the order does not divide: a document, `length`
///   batch_c7   chunks that do not divide the rows
///   batch_c8   more documents than `documents`
/// The caller owns `*batch`, which any number of threads may read.
cprt_status cprt_batch_create(const cprt_batch_options *options,
                              const cprt_batch_tensor *tensors, size_t count,
                              cprt_batch **batch, char *message,
                              size_t capacity);
/// Null does nothing.
void cprt_batch_destroy(cprt_batch *batch);

typedef struct cprt_batch_info {
  /// B and S.
  int64_t original_rows, original_length;
  /// What they became: rows of `length` tokens, `local_length` on each rank.
  int64_t rows, length, local_length;
  /// n.
  int64_t documents;
  /// Places without a token, of rows * length.
  int64_t padding;
  cprt_batch_format format;
} cprt_batch_info;
void cprt_batch_describe(const cprt_batch *batch, cprt_batch_info *info);

/// Writes at most `capacity` names of what the batch gives, sorted, and returns
/// how many there are.
size_t cprt_batch_names(const cprt_batch *batch, const char **names,
                        size_t capacity);

/// The part of `rank` of the tensor `name`, or of CPRT_BATCH_WHOLE: what is not
/// cut (cu_seqlens, cu_seqlens_padded, max_seqlen) is the same for all.
/// Describes it in `*part` (when not null; its `data` is null) and writes it to
/// `data`, which has `bytes`, unless that is null. CPRT_INVALID_ARGUMENT for
/// another name or rank, and where `bytes` are not the tensor's.
cprt_status cprt_batch_get(const cprt_batch *batch, const char *name,
                           int64_t rank, cprt_batch_tensor *part, void *data,
                           size_t bytes, char *message, size_t capacity);

/// The part of `rank` of one more tensor of the batch's B rows of S tokens, as
/// if it had been there; its name is not read. As for cprt_batch_get.
cprt_status cprt_batch_split(const cprt_batch *batch,
                             const cprt_batch_tensor *whole, int64_t rank,
                             cprt_batch_tensor *part, void *data, size_t bytes,
                             char *message, size_t capacity);

/// The inverse: one tensor of the batch's B rows of S tokens, of the parts of
/// all ranks (R of them, of one type and shape, in the order of ranks), of
/// which `sequence_dim` of the first says where tokens are. Padding is dropped;
/// where a token of the batch was, its result is, and 0 where the batch dropped
/// padding of its own. With `keep_padding` the rows are the padded ones. As for
/// cprt_batch_get.
cprt_status cprt_batch_gather(const cprt_batch *batch,
                              const cprt_batch_tensor *parts,
                              int32_t keep_padding, cprt_batch_tensor *whole,
                              void *data, size_t bytes, char *message,
                              size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_BATCH_H */
