//===- Vocabulary.h - The words of our IR -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FUZZ_VOCABULARY_H
#define CP_FUZZ_VOCABULARY_H

#include "llvm/ADT/StringRef.h"

namespace cp::fuzz {

/// Small sizes, an unknown one, and the ends of the types that hold sizes.
inline constexpr llvm::StringLiteral integers[] = {"?",
                                                   "0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "4",
                                                   "5",
                                                   "7",
                                                   "8",
                                                   "16",
                                                   "64",
                                                   "-1",
                                                   "-2",
                                                   "65536",
                                                   "2147483647",
                                                   "2147483648",
                                                   "4294967296",
                                                   "4611686018427387904",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551615"};

inline constexpr llvm::StringLiteral operations[] = {
#define CPRT_OPERATION(symbol) "cp." #symbol,
#include "cp/Runtime/OperationList.inc"
    "cp.reshard",
    "cp.mamba_mixer",
    "cp.cut_positions",
    "cp.shift_tokens",
    "cp.attention_block",
    "cp.attention_rows",
    "cp.stop_gradient",
    "cp.call",
    "arith.addf",
    "arith.mulf",
    "arith.constant",
    "math.exp",
    "linalg.generic",
    "linalg.contract",
    "linalg.fill",
    "linalg.matmul",
    "tensor.empty",
    "tensor.extract_slice",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.dim",
    "tensor.cast",
    "memref.alloc",
    "memref.subview",
    "memref.copy",
    "func.call",
    "func.return",
    "scf.for",
    "cf.br",
    "ub.poison"};

inline constexpr llvm::StringLiteral types[] = {
    "f32", "f64", "bf16",  "f16",  "i1",           "i8",
    "i32", "i64", "index", "none", "complex<f32>", "vector<4xf32>"};

inline constexpr llvm::StringLiteral strings[] = {
    "\"cp\"",       "\"dp\"",        "\"tp\"",
    "\"global\"",   "\"local\"",     "\"hidden\"",
    "\"sequence\"", "\"chain\"",     "\"gather\"",
    "\"matmul\"",   "\"\"",          "\"alloc\"",
    "\"doubling\"", "\"cp\" zigzag", "\"cp\" striped : 2",
#define CPRT_OPERATION(symbol) "\"" #symbol "\"",
#include "cp/Runtime/OperationList.inc"
};

/// How a layout cuts a dimension.
inline constexpr llvm::StringLiteral cuts[] = {"{}",
                                               "{\"cp\"}",
                                               "{\"cp\" zigzag}",
                                               "{\"tp\"}",
                                               "{\"cp\" striped}",
                                               "{\"cp\" zigzag : 2}",
                                               "{\"dp\"}",
                                               "{\"cp\" : 2}",
                                               "{\"cp\", \"tp\"}",
                                               "{\"tp\", \"cp\"}",
                                               "{\"dp\", \"cp\" zigzag}"};

/// What stands in braces, each with its comma.
inline constexpr llvm::StringLiteral attributes[] = {
    "dt_min = 2.0, ",
    "dt_max = 0.5, ",
    "eps = -1.0, ",
    "chunk_size = 5, ",
    "norm_groups = 2, ",
    "silu = true, ",
    "cp.view = \"global\", ",
    "cp.view = \"local\", ",
    "cp.sequence = 1 : i64, ",
    "cp.name = \"x\", ",
    "cp.param = \"x\", ",
    "cp.gradient = \"x\", ",
    "cp.layout = #rows, ",
    "cp.arena = 64 : i64, ",
    "strategy = \"hidden\", ",
    "strategy = \"sequence\", ",
    "dim = 1 : i64, ",
    "before = 3 : i64, ",
    "after = 5 : i64, ",
    "reverse, ",
    "by = 1 : i64, ",
    "groups = 2 : i64, ",
    "algorithm = #cp.scan_algorithm<transposed>, ",
    "combine = #cp.combine<\"f\", batch_dims = 1>, ",
    "concat_cuts = [#cp.cut<\"cp\" zigzag>], ",
    "split_cuts = [#cp.cut<\"cp\" striped : 2>], "};

/// One of the single words of attributes and keywords.
inline constexpr llvm::StringLiteral words[] = {
    "initial",    "weight",    "bias",       "gate",   "from",   "to",
    "over",       "of",        "ins",        "outs",   "chain",  "gather",
    "doubling",   "pipelined", "transposed", "none",   "dense",  "array",
    "affine_map", "partial",   "strategy",   "tensor", "memref", "true",
    "false",      "unit"};

inline constexpr llvm::StringLiteral passes[] = {
    "cp-decompose",
    "cp-next-token-loss",
    "cp-differentiate",
    "cp-differentiate{cotangents}",
    "cp-differentiate{cotangents},cp-split-backward",
    "cp-decompose,cp-prepare-cuts{mesh=cp=2 mixer=hidden},cp-differentiate",
    "cp-prepare-cuts{mesh=cp=4 mixer=hidden}",
    "cp-assign-layouts{mesh=cp=4}",
    "cp-assign-layouts{mesh=cp=2 mixer=hidden scan=gather}",
    "cp-assign-layouts{mesh=dp=2,cp=4 axis=dp replicate-unused}",
    "cp-simplify-reshards",
    "cp-verify-layouts",
    "cp-partition",
    "cp-lower-reshards",
    "cp-merge-exchanges",
    "cp-narrow-gathers",
    "convert-cp-to-calls",
    "cp-prepare-entry",
    "cp-plan-memory",
    "cp-outline-kernels",
    "cp-approximate-math",
    "cp-expand-elementwise",
    "convert-cp-to-runtime",
    "cp-partition,cp-lower-reshards,cp-narrow-gathers,cp-merge-exchanges",
    "cp-simplify-reshards,cp-partition,cp-lower-reshards,cp-lower-pipeline",
    "cp-shard-pipeline{mesh=cp=4 mixer=hidden}",
    "cp-shard-pipeline{mesh=cp=3 mixer=sequence scan=transposed}",
    "cp-shard-pipeline{mesh=dp=2,cp=2 mixer=hidden replicate-unused}",
    "cp-lower-pipeline",
    "cp-pipeline{mesh=cp=4 mixer=hidden}",
    "cp-pipeline{mesh=cp=4 mixer=sequence scan=doubling}"};

} // namespace cp::fuzz

#endif // CP_FUZZ_VOCABULARY_H
