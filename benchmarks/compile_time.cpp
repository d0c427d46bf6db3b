//===- compile_time.cpp - How compile time grows with layers ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a published configuration with 24 to 400 layers, from the imported
// module to machine code, and fits time ~ layers^slope. Exits with 1 when the
// slope is above 1.1 up to 96 layers, above 1.15 up to 400, or 24 layers take
// more than 5 s.
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Program.h"
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
constexpr double mostUsualSlope = 1.1, mostSlope = 1.15, mostSeconds = 5.0;

/// The best of some compilations; negative after an error.
double compileSeconds(MLIRContext &context, cp::Mamba2Config config,
                      int64_t layers, cp::CutStrategy strategy) {
  config.numLayers = layers;
  OwningOpRef<ModuleOp> module =
      cp::importMamba2(config, {}, UnknownLoc::get(&context));
  cp::CompileOptions options;
  options.sharding.emplace();
  options.sharding->mesh = cp::Mesh{{{"cp", 4}}};
  options.sharding->mixer = strategy;
  double best = -1;
  for (int i = 0; module && i < repeats; ++i) {
    llvm::Expected<std::unique_ptr<cp::Program>> program =
        cp::Program::compile(*module, options);
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
             cp::CutStrategy strategy) {
  llvm::SmallVector<double> seconds;
  for (int64_t layers : layerCounts) {
    seconds.push_back(compileSeconds(context, config, layers, strategy));
    if (seconds.back() < 0)
      return false;
  }
  double usual = slopeOf(llvm::ArrayRef(seconds).take_front(usualCounts)),
         slope = slopeOf(seconds);
  bool pass = usual <= mostUsualSlope && slope <= mostSlope &&
              seconds[0] <= mostSeconds;
  llvm::outs() << llvm::left_justify(stringifyEnum(strategy), 10);
  for (double time : seconds)
    llvm::outs() << llvm::format(" %8.3f", time);
  llvm::outs() << llvm::format(" %8.2f %8.2f  %s\n", usual, slope,
                               pass ? "pass" : "short");
  return pass;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
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
               << "strategy  ";
  for (int64_t layers : layerCounts)
    llvm::outs() << llvm::format(" %8lld", static_cast<long long>(layers));
  llvm::outs() << "  to 96   to 400\n";
  bool pass = measure(context, *config, cp::CutStrategy::Hidden);
  pass &= measure(context, *config, cp::CutStrategy::Sequence);
  return pass ? 0 : 1;
}
