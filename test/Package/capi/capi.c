//===- capi.c - cp-mlir from C ------------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: capi FILE
//
// Makes and reads attributes, trains a small model on 2 ranks, then shards the
// module in FILE over 4 ranks and prints it.
//
//===----------------------------------------------------------------------===//

#include "capi.h"
#include "cp/Runtime/cprt.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expect(bool condition, const char *what) {
  if (condition)
    return;
  fprintf(stderr, "capi: not so: %s\n", what);
  exit(1);
}

static void toStdout(MlirStringRef text, void *data) {
  (void)data;
  fwrite(text.data, 1, text.length, stdout);
}

MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

MlirModule parseFile(MlirContext context, const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "rb");
  expect(file != NULL, "the file opens");
  size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = 0;
  MlirModule module = mlirModuleCreateParse(context, ref(text));
  expect(!mlirModuleIsNull(module), "the module parses");
  return module;
}

bool shard(MlirModule module, CpShardPipelineOptions options) {
  MlirContext context = mlirModuleGetContext(module);
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result = cpBuildShardPipeline(
      mlirPassManagerGetAsOpPassManager(manager), &options);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(manager);
  return mlirLogicalResultIsSuccess(result);
}

intptr_t numResults(MlirModule module) {
  MlirOperation function =
      mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirAttribute type =
      mlirOperationGetAttributeByName(function, ref("function_type"));
  return mlirFunctionTypeGetNumResults(mlirTypeAttrGetValue(type));
}

/// To a text on the heap.
static void append(MlirStringRef part, void *data) {
  char **text = data;
  size_t length = strlen(*text);
  *text = realloc(*text, length + part.length + 1);
  expect(*text != NULL, "the text fits memory");
  memcpy(*text + length, part.data, part.length);
  (*text)[length + part.length] = 0;
}
char *textOf(MlirModule module) {
  char *text = calloc(1, 1);
  expect(text != NULL, "the text fits memory");
  mlirOperationPrint(mlirModuleGetOperation(module), append, &text);
  return text;
}

void lower(MlirModule module, const CpLowerPipelineOptions *options) {
  MlirPassManager manager = mlirPassManagerCreate(mlirModuleGetContext(module));
  cpBuildLowerPipeline(mlirPassManagerGetAsOpPassManager(manager), options);
  expect(mlirLogicalResultIsSuccess(
             mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))),
         "the program of a rank lowers");
  mlirPassManagerDestroy(manager);
}

int main(int argc, char **argv) {
  expect(argc == 2 || argc == 3, "a file, and the transport of a job if any");
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  cpRegisterAllDialects(registry);
  cpRegisterAllPasses();
  cpRegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);

  if (argc == 3) {
    trySession(context, argv[2]);
    mlirContextDestroy(context);
    return 0;
  }
  tryAttributes(context);

  CpShardPipelineOptions options = {.mesh = ref("cp=4"),
                                    .mixer = ref("hidden")};
  MlirModule module = parseFile(context, argv[1]);
  expect(shard(module, options), "the module is sharded");
  mlirOperationPrint(mlirModuleGetOperation(module), toStdout, NULL);
  lower(module, NULL);
  mlirModuleDestroy(module);
  module = parseFile(context, argv[1]);
  CpLowerPipelineOptions lowering = {.overlap = true, .device = true};
  expect(shard(module, options), "the module is sharded again");
  lower(module, &lowering);
  mlirModuleDestroy(module);

  tryPipelines(context, argv[1]);
  trySession(context, NULL);

  options.mesh = ref("cp=5");
  module = parseFile(context, argv[1]);
  expect(!shard(module, options), "five ranks are refused");
  mlirModuleDestroy(module);
  mlirContextDestroy(context);

  expect(cprt_api_version() == (CPRT_VERSION_MAJOR << 16 | CPRT_VERSION_MINOR),
         "the runtime is the header's");
  return 0;
}
