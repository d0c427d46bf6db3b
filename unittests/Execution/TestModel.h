//===- TestModel.h - Small models, their weights and runs -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_TESTMODEL_H
#define CP_UNITTESTS_EXECUTION_TESTMODEL_H

#include "cp/Compile/Compile.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace cp::test {

constexpr int64_t sequenceLength = 64;
/// What a slow head keeps of its state over the whole sequence, at least.
constexpr double keptState = 0.3;

/// A context in which every pass can run.
mlir::MLIRContext &context();

/// A module from text; null, with the diagnostics on standard error, if it is
/// none.
mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text);

/// Two layers of 8 heads of 4 channels and 8 states. The number of groups also
/// chooses options: 2 has biases and grouped norms; 8 has D per channel, the
/// norm before the gate and tied embeddings.
Mamba2Config smallConfig(int64_t groups);

enum class Decay { AsPublished, Slow, Resets };
/// "slow decay", ...
const char *describe(Decay decay);

/// A tensor for each argument. Published weights leave D, biases and norms
/// constant; here they are drawn too, so that a wrong slice of them shows. With
/// slow decay half of the heads keep `keptState` of their state over the whole
/// sequence whatever the tokens are; this is checked. With resets the same
/// heads keep nearly all of it from most tokens to the next and nothing from
/// some.
std::vector<HostTensor> drawInputs(llvm::ArrayRef<TensorSpec> specs,
                                   const Mamba2Config &config, Decay decay,
                                   uint64_t seed);

std::vector<const HostTensor *> pointersTo(llvm::ArrayRef<HostTensor> tensors);

/// A tensor of f32, f64 or bf16 with these elements, each rounded once (to bf16
/// from float).
HostTensor fromDoubles(DType dtype, std::vector<int64_t> shape,
                       llvm::ArrayRef<double> values);

/// The same numbers, with bf16 and f32 as f64.
std::vector<HostTensor> widened(llvm::ArrayRef<HostTensor> tensors);

/// Floats of a tensor of that shape.
HostTensor floats(std::vector<int64_t> shape, llvm::ArrayRef<float> values);

struct TestSharding {
  /// Empty: one rank, the undecorated program.
  std::string strategy;
  std::string scan = "chain";
  int64_t ranks = 1;
};
/// Every way to shard: both strategies, every scan, 1, 2, 4 and 8 ranks.
std::vector<TestSharding> allShardings();
std::string describe(const TestSharding &sharding);
CompileOptions compileOptions(const TestSharding &sharding);

/// The program, or null after a test failure.
std::unique_ptr<Program> compileWith(mlir::ModuleOp module,
                                     const CompileOptions &options);
std::unique_ptr<Program> compile(mlir::ModuleOp module,
                                 const TestSharding &sharding);
/// For one that runs a few times: its loops are not optimised.
std::unique_ptr<Program> compileQuickly(mlir::ModuleOp module,
                                        CompileOptions options = {});

/// The result, or an empty one after a test failure.
RunResult runOrFail(Program &program, llvm::ArrayRef<HostTensor> inputs,
                    cprt_kernel_set kernels);

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_TESTMODEL_H
