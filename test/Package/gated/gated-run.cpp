//===- gated-run.cpp - The recurrence on one rank and on four ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: gated-run FILE ZIGZAG WINDOW BROKEN
//
// Compiles the recurrence (see ../gated.mlir) for one rank, and sharded for
// four with every scan; then that of ../gated-zigzag.mlir, which has its
// layouts; and the windows of ../gated-window.mlir, which reach farther than a
// rank's rows. All of it forward and in reverse. Fails unless all give the
// result of a plain loop, windows read what they should, and
// ../gated-window-broken.mlir is seen not to.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "mlir/Parser/Parser.h"

using namespace gated;
using namespace mlir;

namespace {

constexpr int64_t batch = 2, length = 64, channels = 6;

/// The same model with every op in the other direction.
OwningOpRef<ModuleOp> reversed(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->walk([](gated::RecurrenceOp op) { op.setReverse(true); });
  copy->walk([](gated::WindowOp op) { op.setReverse(true); });
  return copy;
}

/// What the recurrence is expected to give: h + x, h from `initial`.
cp::HostTensor expected(const std::vector<double> &gate,
                        const std::vector<double> &x,
                        const std::vector<double> &initial, bool isReverse) {
  std::vector<double> out(x.size()), state = initial;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t step = 0; step < length; ++step)
      for (int64_t c = 0; c < channels; ++c) {
        int64_t l = isReverse ? length - 1 - step : step;
        int64_t i = (b * length + l) * channels + c;
        double &h = state[b * channels + c];
        h = gate[i] * h + x[i];
        out[i] = h + x[i];
      }
  return tensorOf({batch, length, channels}, out);
}

bool runScans(ModuleOp module, ModuleOp zigzag, bool isReverse) {
  // Gates near one: what the first rank hands on is still seen by the last.
  size_t count = batch * length * channels;
  std::vector<double> gate = draw(count, 0.98, 1.0, 1),
                      x = draw(count, -1, 1, 2),
                      initial = draw(batch * channels, -1, 1, 3);
  cp::HostTensor want = expected(gate, x, initial, isReverse);
  cp::HostTensor inputs[] = {tensorOf({batch, length, channels}, gate),
                             tensorOf({batch, length, channels}, x),
                             tensorOf({batch, channels}, initial)};
  const cp::HostTensor *pointers[] = {&inputs[0], &inputs[1], &inputs[2]};
  cp::CompileOptions options;
  options.operations = gated::runtimeOperations();
  std::string way = isReverse ? ", reverse" : "";
  bool good =
      check("1 rank" + way, compileAndRun(module, options, pointers), {want});
  options.sharding.emplace();
  options.sharding->mesh = cp::Mesh{{{"cp", 4}}};
  for (cp::ScanAlgorithm scan : scans) {
    options.sharding->scan = scan;
    good &= check(stringifyEnum(scan).str() + way,
                  compileAndRun(module, options, pointers), {want});
  }
  options.sharding.reset();
  return check("zigzag" + way, compileAndRun(zigzag, options, pointers),
               {want}) &&
         good;
}

/// Against one rank, whose loops ask for rows where they are.
bool runWindows(ModuleOp module, bool isReverse) {
  constexpr int64_t rows = 8, initialRows = 5;
  cp::HostTensor inputs[] = {
      tensorOf({batch, rows, channels},
               draw(batch * rows * channels, -1, 1, 4)),
      tensorOf({batch, initialRows, channels},
               draw(batch * initialRows * channels, -1, 1, 5))};
  const cp::HostTensor *pointers[] = {&inputs[0], &inputs[1]};
  cp::CompileOptions options;
  options.operations = gated::runtimeOperations();
  llvm::Expected<cp::RunResult> one = compileAndRun(module, options, pointers);
  if (!one) {
    llvm::errs() << "1 rank: " << toString(one.takeError()) << "\n";
    return false;
  }
  bool good = true;
  for (auto [ranks, order] :
       {std::pair(2, cp::Order::Contiguous),
        std::pair(4, cp::Order::Contiguous),
        std::pair(8, cp::Order::Contiguous), std::pair(2, cp::Order::Zigzag),
        std::pair(4, cp::Order::Zigzag)}) {
    options.sharding.emplace();
    options.sharding->mesh = cp::Mesh{{{"cp", ranks}}};
    options.sharding->sequence.front().order = order;
    std::string name = "window, " + std::to_string(ranks) + " ranks" +
                       (order == cp::Order::Zigzag ? ", zigzag" : "") +
                       (isReverse ? ", reverse" : "");
    good &= check(name, compileAndRun(module, options, pointers), one->outputs);
    good &= traceAll(module, options, name);
  }
  return good;
}

bool runAll(ModuleOp module, ModuleOp zigzag, ModuleOp window) {
  OwningOpRef<ModuleOp> moduleBack = reversed(module),
                        zigzagBack = reversed(zigzag),
                        windowBack = reversed(window);
  bool good = runScans(module, zigzag, /*isReverse=*/false);
  good &= runScans(*moduleBack, *zigzagBack, /*isReverse=*/true);
  good &= runWindows(window, /*isReverse=*/false);
  return runWindows(*windowBack, /*isReverse=*/true) && good;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  registry.insert<gated::GatedDialect>();
  MLIRContext context(registry);
  if (argc != 5) {
    llvm::errs() << "usage: gated-run FILE ZIGZAG WINDOW BROKEN\n";
    return 2;
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context),
                        zigzag = parseSourceFile<ModuleOp>(argv[2], &context),
                        window = parseSourceFile<ModuleOp>(argv[3], &context),
                        broken = parseSourceFile<ModuleOp>(argv[4], &context);
  if (!module || !zigzag || !window || !broken)
    return 1;
  bool good =
      isSeenBroken(*broken, "initial: row 0 holds zeros where it should hold "
                            "token 4, as x ends at token 3");
  return runAll(*module, *zigzag, *window) && good ? 0 : 1;
}
