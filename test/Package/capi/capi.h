//===- capi.h - What its parts share ------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TEST_PACKAGE_CAPI_H
#define CP_TEST_PACKAGE_CAPI_H

#include "cp-c/Registration.h"
#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>

/// Ends the program with a line that says what is not so.
void expect(bool condition, const char *what);
MlirStringRef ref(const char *text);

MlirModule parseFile(MlirContext context, const char *path);
/// Shards with these options; whether that succeeded.
bool shard(MlirModule module, CpShardPipelineOptions options);
/// Lowers; must succeed.
void lower(MlirModule module, const CpLowerPipelineOptions *options);
/// How many results the only function of a module has.
intptr_t numResults(MlirModule module);
/// The text of a module. The caller frees it.
char *textOf(MlirModule module);

/// Meshes, layouts and what goes from one mesh to another.
void tryAttributes(MlirContext context);
/// Sharded attention, exposed values of the module in the file, gradients.
void tryPipelines(MlirContext context, const char *path);
/// Trains a small model on 2 ranks, or as a rank of a job over a transport.
void trySession(MlirContext context, const char *transport);

#endif // CP_TEST_PACKAGE_CAPI_H
