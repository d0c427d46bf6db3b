//===- gradient-run.cpp - The recurrence's gradients ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: gradient-run FILE
//
// Differentiates the recurrence (see ../gated.mlir), whose op says its adjoint
// itself, and compiles that for one rank and for four, with every scan, in two
// orders, forward and in reverse. Fails unless all of it gives what plain loops
// give, which know of no adjoint but that of one step.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace gated;
using namespace mlir;

namespace {

constexpr int64_t batch = 2, length = 64, channels = 6;

struct Inputs {
  std::vector<double> gate, x, initial, dy;

  // Gates near one: what the first rank hands on is still seen by the last, and
  // what the last hands back by the first.
  Inputs()
      : gate(draw(batch * length * channels, 0.98, 1.0, 1)),
        x(draw(batch * length * channels, -1, 1, 2)),
        initial(draw(batch * channels, -1, 1, 3)),
        dy(draw(batch * length * channels, -1, 1, 4)) {}

  std::vector<cp::HostTensor> tensors() const {
    return {tensorOf({batch, length, channels}, gate),
            tensorOf({batch, length, channels}, x),
            tensorOf({batch, channels}, initial),
            tensorOf({batch, length, channels}, dy)};
  }
};

/// y = h + x, and the gradients by gate, x and initial.
std::vector<cp::HostTensor> expected(const Inputs &in, bool isReverse) {
  std::vector<double> y(in.x.size()), dgate(in.x.size()), dx(in.x.size()),
      dinitial(in.initial.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t c = 0; c < channels; ++c) {
      auto at = [&](int64_t step) {
        int64_t l = isReverse ? length - 1 - step : step;
        return size_t((b * length + l) * channels + c);
      };
      std::vector<double> h = {in.initial[size_t(b * channels + c)]};
      for (int64_t step = 0; step < length; ++step) {
        h.push_back(in.gate[at(step)] * h.back() + in.x[at(step)]);
        y[at(step)] = h.back() + in.x[at(step)];
      }
      double dh = 0;
      for (int64_t step = length - 1; step >= 0; --step) {
        dh += in.dy[at(step)];
        dx[at(step)] = dh + in.dy[at(step)];
        dgate[at(step)] = dh * h[size_t(step)];
        dh *= in.gate[at(step)];
      }
      dinitial[size_t(b * channels + c)] = dh;
    }
  return {tensorOf({batch, length, channels}, y),
          tensorOf({batch, length, channels}, dgate),
          tensorOf({batch, length, channels}, dx),
          tensorOf({batch, channels}, dinitial)};
}

/// The model with gradients; null where it has none.
OwningOpRef<ModuleOp> differentiated(ModuleOp module,
                                     const cp::CompileOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  cp::DifferentiateOptions how;
  how.cotangents = true;
  how.wrt = {"gate", "x", "initial"};
  cp::buildGlobalGradientPipeline(manager, options.sharding, how);
  return succeeded(manager.run(*copy)) ? std::move(copy) : nullptr;
}

bool runAll(ModuleOp module, bool isReverse) {
  Inputs in;
  std::vector<cp::HostTensor> want = expected(in, isReverse),
                              inputs = in.tensors();
  std::vector<const cp::HostTensor *> pointers;
  for (const cp::HostTensor &input : inputs)
    pointers.push_back(&input);
  cp::CompileOptions options;
  options.operations = runtimeOperations();
  auto run = [&](const std::string &name) {
    OwningOpRef<ModuleOp> step = differentiated(module, options);
    return step && check("gradient, " + name + (isReverse ? ", reverse" : ""),
                         compileAndRun(*step, options, pointers), want);
  };
  bool good = run("1 rank");
  options.sharding.emplace();
  options.sharding->mesh = cp::Mesh{{{"cp", 4}}};
  for (cp::Order order : {cp::Order::Contiguous, cp::Order::Zigzag})
    for (cp::ScanAlgorithm scan : scans) {
      options.sharding->sequence.front().order = order;
      options.sharding->scan = scan;
      good &= run(stringifyEnum(scan).str() +
                  (order == cp::Order::Zigzag ? ", zigzag" : ""));
    }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  registry.insert<GatedDialect>();
  MLIRContext context(registry);
  if (argc != 2) {
    llvm::errs() << "usage: gradient-run FILE\n";
    return 2;
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  OwningOpRef<ModuleOp> back = module->clone();
  back->walk([](RecurrenceOp op) { op.setReverse(true); });
  bool good = runAll(*module, /*isReverse=*/false);
  return runAll(*back, /*isReverse=*/true) && good ? 0 : 1;
}
