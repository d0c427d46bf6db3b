//===- compile_time.cpp - How compile time grows with layers ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a published configuration with 24 to 400 layers, from the imported
// module to machine code, forward alone, with loss and gradients, and with a
// step of AdamW, and fits time ~ layers^slope. Exits with 1 where a slope or
// the time of 24 layers is above what `programs` allows. Beyond 96 layers what
// grows faster than they do is upstream's CSE, which looks through all that
// lies between a collective of the forward pass and the same one behind.
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Compile.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "cp/Model/HFConfig.h"
#include "cp/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace {

constexpr int64_t layerCounts[] = {24, 48, 96, 200, 400};
/// How many of them a model of today has.
constexpr size_t usualCounts = 3;
constexpr int repeats = 3;

/// What is compiled, and what it may cost.
struct Program {
  const char *name;
  bool gradients, update;
  /// Up to 96 layers, up to 400, and seconds for 24.
  double mostUsualSlope, mostSlope, mostSeconds;
};
constexpr Program programs[] = {{"forward", false, false, 1.1, 1.15, 2.0},
                                {"gradients", true, false, 1.15, 1.25, 2.0},
                                {"step", true, true, 1.15, 1.25, 2.0}};

/// The best of some compilations; negative after an error.
double compileSeconds(MLIRContext &context, cp::Mamba2Config config,
                      int64_t layers, const Program &what,
                      cp::CutStrategy strategy) {
  config.numLayers = layers;
  OwningOpRef<ModuleOp> module =
      cp::importMamba2(config, {}, UnknownLoc::get(&context));
  cp::CompileOptions options;
  options.sharding.emplace();
  options.sharding->mesh = cp::Mesh{{{"cp", 4}}};
  options.sharding->mixer = strategy;
  options.nextTokenLoss = options.gradients = what.gradients;
  if (what.update)
    options.update.optimizer = cp::Optimizer::Adamw;
  double best = -1;
  for (int i = 0; module && i < repeats; ++i) {
    llvm::Expected<std::unique_ptr<cp::Program>> program =
        cp::compileProgram(*module, options);
    if (!program) {
      llvm::errs() << llvm::toString(program.takeError()) << "\n";
      return -1;
    }
    double seconds = (*program)->compileSeconds();
    best = best < 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

/// The least-squares slope of log(seconds) over log(layers).
double slopeOf(llvm::ArrayRef<double> seconds) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (auto [layers, time] : llvm::zip(layerCounts, seconds)) {
    double x = std::log(static_cast<double>(layers)), y = std::log(time);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/// Prints a row; false when the strategy misses its goals.
bool measure(MLIRContext &context, const cp::Mamba2Config &config,
             const Program &what, cp::CutStrategy strategy) {
  llvm::SmallVector<double> seconds;
  for (int64_t layers : layerCounts) {
    seconds.push_back(compileSeconds(context, config, layers, what, strategy));
    if (seconds.back() < 0)
      return false;
  }
  double usual = slopeOf(llvm::ArrayRef(seconds).take_front(usualCounts)),
         slope = slopeOf(seconds);
  bool pass = usual <= what.mostUsualSlope && slope <= what.mostSlope &&
              seconds[0] <= what.mostSeconds;
  llvm::outs() << llvm::left_justify(what.name, 10)
               << llvm::left_justify(stringifyEnum(strategy), 10);
  for (double time : seconds)
    llvm::outs() << llvm::format(" %8.3f", time);
  llvm::outs() << llvm::format(" %8.2f %8.2f  %s\n", usual, slope,
                               pass ? "pass" : "short");
  return pass;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 || argv[1][0] == '-') {
    llvm::errs() << "usage: cp-bench-compile CONFIG.json\n";
    return 2;
  }
  llvm::Expected<cp::Mamba2Config> config = cp::readMamba2Config(argv[1]);
  if (!config) {
    llvm::errs() << llvm::toString(config.takeError()) << "\n";
    return 1;
  }
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  MLIRContext context(registry);
  llvm::outs() << "compile seconds, 4 ranks, best of " << repeats << "\n"
               << "program   strategy  ";
  for (int64_t layers : layerCounts)
    llvm::outs() << llvm::format(" %8lld", static_cast<long long>(layers));
  llvm::outs() << "  to 96   to 400\n";
  bool pass = true;
  for (const Program &what : programs)
    for (cp::CutStrategy strategy :
         {cp::CutStrategy::Hidden, cp::CutStrategy::Sequence})
      pass &= measure(context, *config, what, strategy);
  return pass ? 0 : 1;
}
