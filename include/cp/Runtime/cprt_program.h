//===- cprt_program.h - A compiled program as a file ------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11. `cp-compile model.mlir -o model.so` compiles a model to a shared
// library that exports one function, cp_program. What it returns says what the
// program takes and gives, and how each tensor is cut over the ranks. It calls
// this runtime, which whoever loads it must have: nothing else, and no
// compiler. cp-launch does; who does it in a program of their own begins so:
//
//   void *file = dlopen("./model.so", RTLD_NOW);
//   const cprt_program *program =
//       ((cprt_program_fn *)dlsym(file, "cp_program"))();
//   const cprt_entry *entry = &program->entries[0];
//   // Of each argument, then of each result that updates none:
//   cprt_tensor_split(program, &entry->arguments[i], rank, whole, buffers[i]);
//   ...
//   entry->run(context, NULL, buffers);
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_PROGRAM_H
#define CP_RUNTIME_CPRT_PROGRAM_H

#include "cp/Runtime/cprt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What this header describes. A program of an older one runs on a newer
/// runtime as long as the first number is the same.
#define CPRT_PROGRAM_ABI_MAJOR 1
#define CPRT_PROGRAM_ABI_MINOR 5

typedef enum cprt_role {
  CPRT_ROLE_DATA = 0,
  /// A model's weight.
  CPRT_ROLE_PARAMETER = 1,
  /// What an optimizer keeps of one; zeros before the first step.
  CPRT_ROLE_STATE = 2,
  /// A sum over micro-batches, which the first one starts anew.
  CPRT_ROLE_ACCUMULATOR = 3,
  /// Of one rank, and part of nothing.
  CPRT_ROLE_RESIDUAL = 4
} cprt_role;

/// Of a cut's `dim`: the axis cuts no dimension. Each rank along it has a term
/// of the same size, and the tensor is the sum of all (since 1.1).
#define CPRT_CUT_TERMS (-1)

/// Of a cut's `order` (since 1.4): the axis cuts blocks of sizes of their own.
/// As many cuts as it has ranks stand behind each other, and `unit` of each is
/// how many elements the rank there holds; its part has room for the largest,
/// zeros behind what an argument holds, and anything behind what a result does.
/// Behind cuts over other axes there is one for each rank on all of them, major
/// to minor (since 1.5).
#define CPRT_CUT_SIZES (-2)

/// One cut of a dimension: `order` as of operations (cprt.h), in whole units.
typedef struct cprt_cut {
  int32_t dim;
  int32_t axis;
  int64_t order;
  int64_t unit;
} cprt_cut;

/// A tensor of a program. Its parts are dense, in C order.
typedef struct cprt_program_tensor {
  const char *name;
  cprt_dtype dtype;
  cprt_role role;
  int32_t rank;
  int32_t num_cuts;
  /// Of the whole, and of each rank's part. Where the cuts do not divide the
  /// whole (since 1.3), parts are those of the least size from it on that they
  /// do, and what is behind its last row is padding: zeros in arguments, and
  /// anything in results.
  const int64_t *sizes;
  const int64_t *local_sizes;
  /// By dimension, and for one major to minor. Ranks that differ in axes that
  /// cut nothing have the same.
  const cprt_cut *cuts;
  /// Of a result: the argument whose new value it is and in whose memory it
  /// stays; null for others.
  const char *updates;
} cprt_program_tensor;

typedef struct cprt_entry {
  const char *name;
  /// `buffers`: of this rank the parts of the arguments, then of the results
  /// that update no argument; each aligned to 64 bytes for full speed.
  void (*run)(cprt_context *context, cprt_stream *stream, void *const *buffers);
  int64_t num_arguments;
  const cprt_program_tensor *arguments;
  int64_t num_results;
  const cprt_program_tensor *results;
  /// Bytes of a rank's arena beside them.
  int64_t arena_bytes;
} cprt_entry;

/// How a tensor is drawn where no file gives it (since 1.2). Draws are those of
/// `cp-run --seed`: each element by its place, the seed and the name.
typedef enum cprt_draw_kind {
  CPRT_DRAW_ZEROS = 0,
  CPRT_DRAW_ONES = 1,
  /// Mean 0, standard deviation `scale`.
  CPRT_DRAW_NORMAL = 2,
  /// From [-scale, scale).
  CPRT_DRAW_UNIFORM = 3,
  /// log(1), log(2), ... in C order.
  CPRT_DRAW_LOG_ARANGE = 4,
  /// log of a uniform draw from [low, high).
  CPRT_DRAW_LOG_UNIFORM = 5,
  /// Inverse softplus of max(floor, a log-uniform draw from [low, high)).
  CPRT_DRAW_DT_BIAS = 6,
  /// Integers from [0, count).
  CPRT_DRAW_IDS = 7,
  /// Where documents of a row of `count` tokens end.
  CPRT_DRAW_DOCUMENTS = 8
} cprt_draw_kind;

typedef struct cprt_draw {
  /// Of all entries the arguments of this name.
  const char *argument;
  cprt_draw_kind kind;
  double scale, low, high, floor;
  int64_t count;
} cprt_draw;

typedef struct cprt_program {
  uint16_t abi_major, abi_minor;
  int32_t num_axes;
  /// The mesh, major axis first, as of cprt_options.
  const char *const *axis_names;
  const int64_t *axis_sizes;
  /// Tells programs apart, by what they do and by their names: as of cprt_job.
  uint64_t hash;
  /// One; two where a step is made of micro-batches: for each of these, and for
  /// the step; and two where forward and backward are called apart. The former
  /// then gives residuals, CPRT_ROLE_RESIDUAL, which arguments of the latter
  /// have the names of; of a result y it takes the cotangent as `y.cotangent`,
  /// and the gradient by w is `grad.w`.
  int64_t num_entries;
  const cprt_entry *entries;
  /// Since 1.2: how arguments are drawn, those of which it is known.
  int64_t num_draws;
  const cprt_draw *draws;
  /// Since 1.2: what the program was made of and how it was cut, as JSON:
  /// {"stage": "global", "strategy": "sequence", "sharding": {"axis": "cp",
  /// "order": "zigzag", "scan": "chain", ...}}
  const char *origin;
} cprt_program;

typedef const cprt_program *cprt_program_fn(void);

/// Whether this runtime runs a program: CPRT_UNSUPPORTED, with a text, if it is
/// of another interface.
cprt_status cprt_program_check(const cprt_program *program, char *message,
                               size_t capacity);

/// Bytes of a rank's part, and of the whole.
int64_t cprt_tensor_part_bytes(const cprt_program_tensor *tensor);
int64_t cprt_tensor_bytes(const cprt_program_tensor *tensor);

/// Copies what `rank` has of a whole tensor to its part, with zeros for what is
/// padding; and a part to its place in the whole. CPRT_INVALID_ARGUMENT for a
/// rank outside the mesh, a null pointer, and a table that is none;
/// CPRT_UNSUPPORTED for what ranks have terms of, which are to be added up.
cprt_status cprt_tensor_split(const cprt_program *program,
                              const cprt_program_tensor *tensor, int64_t rank,
                              const void *whole, void *part);
cprt_status cprt_tensor_join(const cprt_program *program,
                             const cprt_program_tensor *tensor, int64_t rank,
                             const void *part, void *whole);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_PROGRAM_H */
