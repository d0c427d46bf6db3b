//===- ProgramRows.cpp - Seconds of compiled programs ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kept.h"
#include "MixerModule.h"
#include "Rows.h"
#include "Timing.h"

#include "Inputs.h"
#include "cp/Execution/Program.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "cp/Model/HFConfig.h"
#include "cp/Transforms/Passes.h"

using namespace mlir;

namespace cp::bench {
namespace {

/// A compiled program with drawn weights and inputs.
struct Ready {
  std::unique_ptr<Program> program;
  std::vector<HostTensor> tensors;
};

llvm::Expected<Ready> prepare(ModuleOp module, const CompileOptions &options) {
  auto program = Program::compile(module, options);
  if (!program)
    return program.takeError();
  auto tensors = gatherInputs((*program)->arguments(), Options());
  if (!tensors)
    return tensors.takeError();
  return Ready{std::move(*program), std::move(*tensors)};
}

/// The median seconds of a step on all ranks, without the first.
llvm::Expected<double> secondsOfStep(const Ready &ready, int64_t threads,
                                     int64_t steps) {
  RunOptions options;
  options.repeats = int(steps + 1);
  options.threads = threads;
  std::vector<const HostTensor *> inputs;
  for (const HostTensor &tensor : ready.tensors)
    inputs.push_back(&tensor);
  llvm::Expected<RunResult> result = ready.program->run(inputs, options);
  if (!result)
    return result.takeError();
  return medianOf({result->seconds.begin() + 1, result->seconds.end()});
}

class ProgramRows {
public:
  explicit ProgramRows(MLIRContext &context) : context(context) {}

  llvm::Expected<double> mixer(const Question &q) {
    MixerShape shape;
    shape.tokens = q.integer("tokens", 1024);
    shape.hidden = q.integer("hidden", 768);
    shape.headSize = q.integer("head_size", 64);
    shape.heads = q.integer("heads", 2 * shape.hidden / shape.headSize);
    shape.stateSize = q.integer("state", 128);
    shape.layers = q.integer("layers", 1);
    return ask(q, [&] { return mixerModule(context, shape); });
  }

  llvm::Expected<double> model(const Question &q) {
    std::string path = q.text("config", "config.json");
    ImportOptions import;
    import.sequence = q.integer("tokens", 1024);
    return ask(q, [&]() -> OwningOpRef<ModuleOp> {
      llvm::Expected<Mamba2Config> config = readMamba2Config(path);
      if (!config) {
        llvm::errs() << llvm::toString(config.takeError()) << "\n";
        return {};
      }
      return importMamba2(*config, import, UnknownLoc::get(&context));
    });
  }

private:
  llvm::Expected<double> ask(const Question &q,
                             llvm::function_ref<OwningOpRef<ModuleOp>()> make) {
    CompileOptions compile;
    compile.mesh = Mesh{{{"cp", q.integer("ranks", 1)}}};
    bool isSharded = compile.mesh.numRanks() > 1;
    std::string strategy = q.text("strategy", isSharded ? "sequence" : "");
    int64_t threads = q.integer("threads", 1), steps = q.integer("steps", 1);
    if (llvm::Error error = q.check())
      return error;
    if (!strategy.empty()) {
      ShardingText text;
      text.mesh = meshText(compile.mesh);
      text.mixer = strategy;
      llvm::Expected<Sharding> sharding = parseSharding(text);
      if (!sharding)
        return sharding.takeError();
      compile.sharding = std::move(*sharding);
    }
    llvm::Expected<const Ready *> ready =
        kept.get(q.without({"threads"}), [&]() -> llvm::Expected<Ready> {
          OwningOpRef<ModuleOp> module = make();
          if (!module)
            return llvm::createStringError("the module could not be made");
          return prepare(*module, compile);
        });
    if (!ready)
      return ready.takeError();
    return secondsOfStep(**ready, threads, steps);
  }

  MLIRContext &context;
  Kept<Ready> kept;
};

} // namespace

void addProgramRows(RowTable &rows, MLIRContext &context) {
  auto programs = std::make_shared<ProgramRows>(context);
  rows["mixer"] = [=](const Question &q) { return programs->mixer(q); };
  rows["model"] = [=](const Question &q) { return programs->model(q); };
}

} // namespace cp::bench
