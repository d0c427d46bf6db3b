//===- ProgramRows.cpp - Seconds of compiled programs ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientModules.h"
#include "Kept.h"
#include "MixerModule.h"
#include "Numbers.h"
#include "Rows.h"
#include "Timing.h"

#include "Inputs.h"
#include "cp/Compile/Compile.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "cp/Model/HFConfig.h"
#include "cp/Transforms/Passes.h"

#include <cstring>

using namespace mlir;

namespace cp::bench {
namespace {

/// A compiled program with drawn weights and inputs.
struct Ready {
  std::unique_ptr<Program> program;
  std::vector<HostTensor> tensors;
};

/// What a first step of training takes beside parameters and tokens: moments of
/// nothing yet, and scalars. Nothing for other tensors.
std::optional<HostTensor> ofTraining(const TensorSpec &spec) {
  auto scalar = [&](auto value) {
    HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
    std::memcpy(tensor.bytes.data(), &value, sizeof(value));
    return tensor;
  };
  if (spec.isState)
    return HostTensor::zeros(spec.dtype, spec.shape);
  if (spec.name == update::rate)
    return scalar(1e-3);
  if (spec.name == update::clip)
    return scalar(1.0);
  if (spec.name == update::step)
    return scalar(int64_t(1));
  return std::nullopt;
}

llvm::Expected<Ready> prepare(ModuleOp module, const CompileOptions &options) {
  auto program = compileProgram(module, options);
  if (!program)
    return program.takeError();
  Ready ready{std::move(*program), {}};
  for (const TensorSpec &spec : ready.program->arguments()) {
    if (std::optional<HostTensor> tensor = ofTraining(spec)) {
      ready.tensors.push_back(std::move(*tensor));
      continue;
    }
    auto drawn = gatherInputs(spec, RunFlags());
    if (!drawn)
      return drawn.takeError();
    ready.tensors.push_back(std::move(drawn->tensors.front()));
  }
  return ready;
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

  /// Forward, loss, backward and a step of AdamW.
  llvm::Expected<double> step(const Question &q) {
    return model(q, /*isTraining=*/true);
  }

  llvm::Expected<double> model(const Question &q, bool isTraining = false) {
    std::string path = q.text("config", "config.json");
    ImportOptions import;
    import.sequence = q.integer("tokens", 1024);
    return ask(
        q,
        [&]() -> OwningOpRef<ModuleOp> {
          llvm::Expected<Mamba2Config> config = readMamba2Config(path);
          if (!config) {
            llvm::errs() << llvm::toString(config.takeError()) << "\n";
            return {};
          }
          return importMamba2(*config, import, UnknownLoc::get(&context));
        },
        isTraining);
  }

  /// A program as it stands, on one rank.
  llvm::Expected<double> gradient(
      const Question &q,
      llvm::function_ref<OwningOpRef<ModuleOp>(MLIRContext &, const Question &)>
          make) {
    OwningOpRef<ModuleOp> module = make(context, q);
    return ask(q, [&] { return std::move(module); });
  }

  /// The program of an op's gradients on the numbers of DIR/in0, DIR/in1, ...,
  /// its arguments; its results go to DIR/out0, DIR/out1, ... Answers how many
  /// numbers these are.
  llvm::Expected<double> evaluate(const Question &q) {
    std::string op = q.text("op", ""), dir = q.text("dir", ".");
    OwningOpRef<ModuleOp> module = op == "ssd" ? ssdStep(context, q)
                                   : op == "attention"
                                       ? attentionStep(context, q)
                                   : op == "conv1d"   ? conv1dGrad(context, q)
                                   : op == "rms_norm" ? rmsNormGrad(context, q)
                                                      : OwningOpRef<ModuleOp>();
    if (!module)
      return llvm::createStringError(
          "op must be attention, conv1d, rms_norm or ssd, but is '" + op + "'");
    if (llvm::Error error = q.check())
      return error;
    CompileOptions compile;
    compile.mesh = Mesh{{{"cp", 1}}};
    auto program = compileProgram(*module, compile);
    if (!program)
      return program.takeError();
    std::vector<HostTensor> inputs;
    for (const TensorSpec &spec : (*program)->arguments()) {
      auto read =
          readNumbers(dir + "/in" + std::to_string(inputs.size()), spec);
      if (!read)
        return read.takeError();
      inputs.push_back(std::move(*read));
    }
    return writeResults(**program, inputs, dir);
  }

private:
  static llvm::Expected<HostTensor> readNumbers(const std::string &path,
                                                const TensorSpec &spec) {
    HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
    bool isNarrow = spec.dtype == DType::BF16;
    std::vector<float> values(tensor.bytes.size() / (isNarrow ? 2 : 4));
    if (llvm::Error error = transferNumbers(path, values, /*isWriting=*/false))
      return error;
    // What is bf16 has nothing behind its first 16 bits.
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(tensor.bytes.data() + i * (isNarrow ? 2 : 4),
                  reinterpret_cast<const char *>(&values[i]) +
                      (isNarrow ? 2 : 0),
                  isNarrow ? 2 : 4);
    return tensor;
  }

  static llvm::Expected<double>
  writeResults(Program &program, const std::vector<HostTensor> &inputs,
               const std::string &dir) {
    std::vector<const HostTensor *> pointers;
    for (const HostTensor &tensor : inputs)
      pointers.push_back(&tensor);
    llvm::Expected<RunResult> result = program.run(pointers, RunOptions());
    if (!result)
      return result.takeError();
    double count = 0;
    for (size_t i = 0; i < result->outputs.size(); ++i) {
      std::vector<double> wide = result->outputs[i].asDoubles();
      std::vector<float> values(wide.begin(), wide.end());
      if (llvm::Error error = transferNumbers(dir + "/out" + std::to_string(i),
                                              values, /*isWriting=*/true))
        return error;
      count += double(values.size());
    }
    return count;
  }

  llvm::Expected<double> ask(const Question &q,
                             llvm::function_ref<OwningOpRef<ModuleOp>()> make,
                             bool isTraining = false) {
    CompileOptions compile;
    compile.nextTokenLoss = compile.gradients = isTraining;
    if (isTraining)
      compile.update.optimizer = Optimizer::Adamw;
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
  rows["step"] = [=](const Question &q) { return programs->step(q); };
  rows["evaluate_grad"] = [=](const Question &q) {
    return programs->evaluate(q);
  };
  using Make = OwningOpRef<ModuleOp> (*)(MLIRContext &, const Question &);
  for (auto [name, make] : std::initializer_list<std::pair<const char *, Make>>{
           {"ssd_step", ssdStep},
           {"attention_step", attentionStep},
           {"weight_grad", weightGrad},
           {"conv1d_grad", conv1dGrad},
           {"rms_norm_grad", rmsNormGrad}})
    rows[name] = [programs, make = make](const Question &q) {
      return programs->gradient(q, make);
    };
}

} // namespace cp::bench
