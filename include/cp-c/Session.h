//===- Session.h - Programs that run for many steps, from C ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module of whole tensors, compiled for ranks that are threads of this
// process, or processes of a job, and keep its arguments from step to step:
//
//   CpShardPipelineOptions options = {0};
//   options.mesh = mlirStringRefCreateFromCString("cp=4");
//   options.gradients = mlirStringRefCreateFromCString("loss");
//   options.optimizer = mlirStringRefCreateFromCString("adamw");
//   CpSession session = cpSessionCreate(module, &options, true, 0, say, NULL);
//   ... cpSessionSet(session, name, data, bytes, say, NULL) each argument ...
//   while (there is a batch) {
//     cpSessionSet(session, ids, batch, bytes, say, NULL);
//     cpSessionStep(session, 0, say, NULL);
//     cpSessionGet(session, loss, &value, sizeof(value), say, NULL);
//   }
//   cpSessionDestroy(session);
//
// A session belongs to one thread at a time. What fails says why to `say`, and
// gives a null session or a failure; where a rank has failed in a step no other
// step runs any more.
//
//===----------------------------------------------------------------------===//

#ifndef CP_C_SESSION_H
#define CP_C_SESSION_H

#include "cp-c/Registration.h"
#include "cp/Runtime/cprt.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CpSession {
  void *ptr;
} CpSession;

/// One argument or result. Name and sizes live as long as the session.
typedef struct CpTensor {
  MlirStringRef name;
  /// CPRT_ABSENT for a type that no kernel computes with.
  cprt_dtype dtype;
  intptr_t rank;
  /// Of the whole tensor.
  const int64_t *sizes;
  size_t bytes;
  /// A parameter of the model; or what an optimizer keeps of one, or a sum over
  /// micro-batches, both of which begin as zeros.
  bool isParam, isKept;
} CpTensor;

/// Compiles a copy of `module` as cp-shard-pipeline with `options` does, and
/// starts its ranks. With `nextTokenLoss` the result "logits" becomes the mean
/// loss of each next token, "loss", by one more argument "labels". `threads`
/// are those of a rank's kernels; 0 shares the processors between the ranks.
/// `split` and `expose` must be false. With `accumulate` there are two
/// programs: 0 for each micro-batch of a step, 1 for the step. Errors in the
/// module are diagnostics of its context; what stage failed is said to `say`.
/// The caller owns the session.
MLIR_CAPI_EXPORTED CpSession
cpSessionCreate(MlirModule module, const CpShardPipelineOptions *options,
                bool nextTokenLoss, int64_t threads, MlirStringCallback say,
                void *userData);
/// The same where ranks are processes of a job, each with a session of its own,
/// which all make the same calls with the same tensors: `transport` is the file
/// of the plug-in that carries what they exchange, such as
/// /usr/lib/libcprt_openmpi.so under mpirun (cprt_transport.h). Their number is
/// the mesh's. Every process has a module, and compiles it: they wait a minute
/// for each other. What cpSessionGet gives is gathered, so that all of them
/// must ask for it; that of rank 0 is destroyed behind those of the others.
/// Tensors are in the host's memory, where libcprt_nccl.so finds none. With an
/// empty string it is cpSessionCreate.
MLIR_CAPI_EXPORTED CpSession cpSessionCreateInJob(
    MlirModule module, const CpShardPipelineOptions *options,
    bool nextTokenLoss, int64_t threads, MlirStringRef transport,
    MlirStringCallback say, void *userData);
/// Null does nothing.
MLIR_CAPI_EXPORTED void cpSessionDestroy(CpSession session);
static inline bool cpSessionIsNull(CpSession session) { return !session.ptr; }

MLIR_CAPI_EXPORTED intptr_t cpSessionGetNumPrograms(CpSession session);
/// Of all programs; arguments of one name are one.
MLIR_CAPI_EXPORTED intptr_t cpSessionGetNumArguments(CpSession session);
/// `number` is below that.
MLIR_CAPI_EXPORTED CpTensor cpSessionGetArgument(CpSession session,
                                                 intptr_t number);
/// Of a program, those that update no argument.
MLIR_CAPI_EXPORTED intptr_t cpSessionGetNumResults(CpSession session,
                                                   intptr_t program);
MLIR_CAPI_EXPORTED CpTensor cpSessionGetResult(CpSession session,
                                               intptr_t program,
                                               intptr_t number);

/// Hands the ranks a whole tensor, in C order, which is copied. Fails for a
/// name that no argument has, and for another number of bytes.
MLIR_CAPI_EXPORTED MlirLogicalResult
cpSessionSet(CpSession session, MlirStringRef name, const void *data,
             size_t bytes, MlirStringCallback say, void *userData);
/// One step of a program on all ranks. Fails where an argument was never set,
/// and where a rank does.
MLIR_CAPI_EXPORTED MlirLogicalResult cpSessionStep(CpSession session,
                                                   intptr_t program,
                                                   MlirStringCallback say,
                                                   void *userData);
/// Writes a whole tensor to `data`: a result of the last step, or an argument
/// as it is now. Fails for a name that is neither, and for another number of
/// bytes.
MLIR_CAPI_EXPORTED MlirLogicalResult cpSessionGet(CpSession session,
                                                  MlirStringRef name,
                                                  void *data, size_t bytes,
                                                  MlirStringCallback say,
                                                  void *userData);

/// Of the last step: how long it took, and how often it asked the system for
/// memory, which only a first one does.
MLIR_CAPI_EXPORTED double cpSessionGetSeconds(CpSession session);
MLIR_CAPI_EXPORTED int64_t cpSessionGetAllocations(CpSession session);

#ifdef __cplusplus
}
#endif

#endif // CP_C_SESSION_H
