//===- Session.cpp - Programs that run for many steps, from C ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Session.h"

#include "PipelineOptions.h"
#include "cp/Compile/Compile.h"
#include "cp/Execution/RuntimeType.h"
#include "cp/Execution/Session.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace cp;

namespace {

struct Running {
  std::vector<std::unique_ptr<Program>> programs;
  /// Of all programs, each name once.
  std::vector<TensorSpec> arguments;
  /// By program, those that update no argument.
  std::vector<std::vector<TensorSpec>> results;
  /// Last: it uses the programs.
  std::unique_ptr<Session> session;
};

Running &of(CpSession session) { return *static_cast<Running *>(session.ptr); }

MlirLogicalResult say(const std::string &text, MlirStringCallback callback,
                      void *userData) {
  if (callback)
    callback({text.data(), text.size()}, userData);
  return mlirLogicalResultFailure();
}

MlirLogicalResult finish(llvm::Error error, MlirStringCallback callback,
                         void *userData) {
  if (!error)
    return mlirLogicalResultSuccess();
  return say(llvm::toString(std::move(error)), callback, userData);
}

llvm::Expected<CompileOptions>
compileOptions(const CpShardPipelineOptions &options) {
  ShardPipelineOptions pipeline;
  if (failed(readOptions(options, pipeline)))
    return llvm::createStringError(
        "gradients, differentiate or optimizer is none of its words");
  if (pipeline.gradients == GradientsFrom::Cotangents || pipeline.split ||
      pipeline.expose || pipeline.partialGradients)
    return llvm::createStringError(
        "a session has gradients of a loss, added up, and no split or exposed "
        "values; "
        "build the pipeline for these (cpBuildShardPipeline)");
  ShardingText text;
  text.mesh = pipeline.mesh;
  text.axis = pipeline.axis;
  text.order = pipeline.order;
  text.batch = pipeline.batch;
  text.mixer = pipeline.mixer;
  text.attention = pipeline.attention;
  text.tensorAxis = pipeline.tensorAxis;
  text.tensorRows = pipeline.tensorRows;
  text.scan = pipeline.scan;
  text.params = pipeline.params;
  text.replicateUnused = pipeline.replicateUnused;
  llvm::Expected<Sharding> sharding = parseSharding(text);
  if (!sharding)
    return sharding.takeError();
  CompileOptions compile;
  compile.sharding = std::move(*sharding);
  compile.gradients = pipeline.gradients == GradientsFrom::Loss;
  compile.differentiate = pipeline.differentiate;
  compile.update = {pipeline.optimizer,   pipeline.beta1,
                    pipeline.beta2,       pipeline.eps,
                    pipeline.weightDecay, pipeline.accumulate};
  compile.memory = {pipeline.memory, pipeline.recomputeExchanges};
  compile.overlap = options.overlap;
  return compile;
}

llvm::Expected<std::unique_ptr<Running>>
start(mlir::ModuleOp module, const CpShardPipelineOptions &options,
      bool nextTokenLoss, const RunOptions &run) {
  llvm::Expected<CompileOptions> compile = compileOptions(options);
  if (!compile)
    return compile.takeError();
  compile->nextTokenLoss = nextTokenLoss;
  if (run.transport)
    if (llvm::Error error = run.transport->checkSize(compile->sharding->mesh))
      return error;
  auto running = std::make_unique<Running>();
  if (llvm::Error error =
          compileSteps(module, *compile).moveInto(running->programs))
    return error;
  std::vector<const Program *> programs;
  llvm::StringSet<> known;
  for (const auto &program : running->programs) {
    programs.push_back(program.get());
    for (const TensorSpec &spec : program->arguments())
      if (known.insert(spec.name).second)
        running->arguments.push_back(spec);
    running->results.emplace_back();
    for (const TensorSpec &spec : program->results())
      if (spec.updates.empty())
        running->results.back().push_back(spec);
  }
  if (llvm::Error error =
          Session::create(programs, run).moveInto(running->session))
    return error;
  return running;
}

CpTensor tensorOf(const TensorSpec &spec) {
  return {{spec.name.data(), spec.name.size()},
          toRuntimeType(spec.dtype),
          intptr_t(spec.shape.size()),
          spec.shape.data(),
          size_t(*tensorBytes(spec.shape, spec.dtype)),
          spec.isParam,
          spec.isState || spec.isAccumulator};
}

const TensorSpec *findArgument(const Running &running, llvm::StringRef name) {
  for (const TensorSpec &spec : running.arguments)
    if (spec.name == name)
      return &spec;
  return nullptr;
}

std::string wrongSize(llvm::StringRef name, size_t has, size_t given) {
  return ("'" + name + "' has " + std::to_string(has) +
          " bytes, but the caller gives " + std::to_string(given))
      .str();
}

} // namespace

CpSession cpSessionCreate(MlirModule module,
                          const CpShardPipelineOptions *options,
                          bool nextTokenLoss, int64_t threads,
                          MlirStringCallback callback, void *userData) {
  return cpSessionCreateInJob(module, options, nextTokenLoss, threads,
                              {nullptr, 0}, callback, userData);
}

CpSession cpSessionCreateInJob(MlirModule module,
                               const CpShardPipelineOptions *options,
                               bool nextTokenLoss, int64_t threads,
                               MlirStringRef transport,
                               MlirStringCallback callback, void *userData) {
  RunOptions run;
  run.threads = threads;
  if (transport.length)
    if (llvm::Error error =
            Transport::load(unwrap(transport).str()).moveInto(run.transport)) {
      (void)finish(std::move(error), callback, userData);
      return {nullptr};
    }
  auto running = start(unwrap(module), *options, nextTokenLoss, run);
  if (running)
    return {running->release()};
  std::string why = llvm::toString(running.takeError());
  // The others would wait for this process.
  if (run.transport)
    run.transport->decline(why, run.deadlineMs);
  (void)say(why, callback, userData);
  return {nullptr};
}

void cpSessionDestroy(CpSession session) {
  delete static_cast<Running *>(session.ptr);
}

intptr_t cpSessionGetNumPrograms(CpSession session) {
  return intptr_t(of(session).programs.size());
}
intptr_t cpSessionGetNumArguments(CpSession session) {
  return intptr_t(of(session).arguments.size());
}
CpTensor cpSessionGetArgument(CpSession session, intptr_t number) {
  return tensorOf(of(session).arguments[size_t(number)]);
}
intptr_t cpSessionGetNumResults(CpSession session, intptr_t program) {
  return intptr_t(of(session).results[size_t(program)].size());
}
CpTensor cpSessionGetResult(CpSession session, intptr_t program,
                            intptr_t number) {
  return tensorOf(of(session).results[size_t(program)][size_t(number)]);
}

MlirLogicalResult cpSessionSet(CpSession session, MlirStringRef name,
                               const void *data, size_t bytes,
                               MlirStringCallback callback, void *userData) {
  llvm::StringRef text = unwrap(name);
  const TensorSpec *spec = findArgument(of(session), text);
  if (!spec)
    return say("no program has an argument '" + text.str() + "'", callback,
               userData);
  HostTensor tensor = HostTensor::zeros(spec->dtype, spec->shape);
  if (tensor.bytes.size() != bytes)
    return say(wrongSize(text, tensor.bytes.size(), bytes), callback, userData);
  if (bytes)
    std::memcpy(tensor.bytes.data(), data, bytes);
  return finish(of(session).session->set(text, tensor), callback, userData);
}

MlirLogicalResult cpSessionStep(CpSession session, intptr_t program,
                                MlirStringCallback callback, void *userData) {
  if (program < 0 || program >= cpSessionGetNumPrograms(session))
    return say("there is no program number " + std::to_string(program) +
                   "; they are from 0 to " +
                   std::to_string(cpSessionGetNumPrograms(session) - 1),
               callback, userData);
  return finish(of(session).session->step(size_t(program)), callback, userData);
}

MlirLogicalResult cpSessionGet(CpSession session, MlirStringRef name,
                               void *data, size_t bytes,
                               MlirStringCallback callback, void *userData) {
  llvm::StringRef text = unwrap(name);
  Running &running = of(session);
  llvm::Expected<HostTensor> tensor = findArgument(running, text)
                                          ? running.session->get(text)
                                          : running.session->result(text);
  if (!tensor)
    return finish(tensor.takeError(), callback, userData);
  if (tensor->bytes.size() != bytes)
    return say(wrongSize(text, tensor->bytes.size(), bytes), callback,
               userData);
  if (bytes)
    std::memcpy(data, tensor->bytes.data(), bytes);
  return mlirLogicalResultSuccess();
}

double cpSessionGetSeconds(CpSession session) {
  return of(session).session->seconds();
}
int64_t cpSessionGetAllocations(CpSession session) {
  return of(session).session->allocations();
}
