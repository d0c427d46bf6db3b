//===- gated-run.cpp - The recurrence on one rank and on four -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: gated-run FILE ZIGZAG
//
// Compiles the module (see ../gated.mlir) for one rank, and sharded for four
// with every scan; then that of ../gated-zigzag.mlir, which has its layouts.
// Fails unless all give the result of a plain loop.
//
//===----------------------------------------------------------------------===//

#include "Gated.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <random>

using namespace mlir;

namespace {

constexpr int64_t batch = 2, length = 64, channels = 6;

cp::HostTensor tensorOf(std::vector<int64_t> shape,
                        const std::vector<double> &values) {
  cp::HostTensor tensor =
      cp::HostTensor::zeros(cp::DType::F64, std::move(shape));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::vector<double> draw(size_t count, double low, double high, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(count);
  for (double &value : values)
    value = uniform(engine);
  return values;
}

/// What the model is expected to give: h + x, h from `initial`.
cp::HostTensor expected(const std::vector<double> &gate,
                        const std::vector<double> &x,
                        const std::vector<double> &initial) {
  std::vector<double> out(x.size()), state = initial;
  for (int64_t i = 0; i < batch * length * channels; ++i) {
    int64_t b = i / (length * channels), c = i % channels;
    double &h = state[b * channels + c];
    h = gate[i] * h + x[i];
    out[i] = h + x[i];
  }
  return tensorOf({batch, length, channels}, out);
}

llvm::Expected<cp::RunResult>
compileAndRun(ModuleOp module, const cp::CompileOptions &options,
              llvm::ArrayRef<const cp::HostTensor *> inputs) {
  llvm::Expected<std::unique_ptr<cp::Program>> program =
      cp::Program::compile(module, options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs, {});
}

/// Prints how far the result is from `want`; whether that is near enough.
bool check(const std::string &name, llvm::Expected<cp::RunResult> result,
           const cp::HostTensor &want) {
  if (!result) {
    llvm::errs() << name << ": " << toString(result.takeError()) << "\n";
    return false;
  }
  double error = cp::compare(result->outputs[0], want).relL2;
  llvm::outs() << llvm::formatv("{0,-12} rel_l2 {1:e2}", name, error);
  for (const cp::CollectiveCount &count : result->collectives)
    llvm::outs() << llvm::formatv("  {0} x{1}", count.op, count.calls);
  llvm::outs() << "\n";
  return error <= 1e-12;
}

bool runAll(ModuleOp module, ModuleOp zigzag) {
  // Gates near one: what the first rank hands on is still seen by the last.
  size_t count = batch * length * channels;
  std::vector<double> gate = draw(count, 0.98, 1.0, 1),
                      x = draw(count, -1, 1, 2),
                      initial = draw(batch * channels, -1, 1, 3);
  cp::HostTensor want = expected(gate, x, initial);
  cp::HostTensor inputs[] = {tensorOf({batch, length, channels}, gate),
                             tensorOf({batch, length, channels}, x),
                             tensorOf({batch, channels}, initial)};
  const cp::HostTensor *pointers[] = {&inputs[0], &inputs[1], &inputs[2]};
  cp::CompileOptions options;
  options.operations = gated::runtimeOperations();
  options.mesh = cp::Mesh{{{"cp", 1}}};
  bool good = check("1 rank", compileAndRun(module, options, pointers), want);
  options.mesh = cp::Mesh{{{"cp", 4}}};
  options.strategy = "sequence";
  for (const char *scan :
       {"chain", "gather", "doubling", "pipelined", "transposed"}) {
    options.scan = scan;
    good &= check(scan, compileAndRun(module, options, pointers), want);
  }
  options.strategy.clear();
  return check("zigzag", compileAndRun(zigzag, options, pointers), want) &&
         good;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  registry.insert<gated::GatedDialect>();
  MLIRContext context(registry);
  if (argc != 3) {
    llvm::errs() << "usage: gated-run FILE ZIGZAG\n";
    return 2;
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context),
                        zigzag = parseSourceFile<ModuleOp>(argv[2], &context);
  return module && zigzag && runAll(*module, *zigzag) ? 0 : 1;
}
