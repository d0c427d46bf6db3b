//===- TestModel.cpp - Small models, their weights and runs ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "cp/Model/Random.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;

namespace cp::test {
namespace {

double softplus(double x) { return std::log1p(std::exp(x)); }

HostTensor drawIds(const TensorSpec &spec, int64_t vocabulary, uint64_t seed) {
  HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    auto id = static_cast<int32_t>(splitMix64(seed, i) % vocabulary);
    std::memcpy(tensor.bytes.data() + i * sizeof(id), &id, sizeof(id));
  }
  return tensor;
}

/// Uniform in [low, high) for every element.
std::vector<double> spread(const TensorSpec &spec, uint64_t seed, double low,
                           double high) {
  uint64_t key = seed ^ fnv1a64(spec.name) ^ 1;
  std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = low + (high - low) * uniform01(key, i);
  return values;
}

/// Makes the steps of even heads differ by orders of magnitude from token to
/// token, beside a rate that turns the largest of them into resets.
void addResets(llvm::StringRef name, const TensorSpec &spec,
               const MixerConfig &config, std::vector<double> &values) {
  bool isProjection = name.ends_with("in_proj.weight");
  int64_t first = isProjection ? config.inProjSize() - config.numHeads : 0;
  int64_t columns = isProjection ? spec.shape[1] : 1;
  for (int64_t head = 0; head < config.numHeads; head += 2)
    for (int64_t i = 0; i < columns; ++i) {
      double &value = values[(first + head) * columns + i];
      if (isProjection)
        value *= 10;
      else if (name.ends_with("A_log"))
        value = std::log(2000);
      else if (name.ends_with("dt_bias"))
        value = -10;
    }
}

std::vector<double> drawParameter(const TensorSpec &spec,
                                  const MixerConfig &config, Decay decay,
                                  uint64_t seed) {
  llvm::StringRef name = spec.name;
  if (name.ends_with(".D") || name.ends_with("norm.weight") ||
      name.ends_with("norm_f.weight"))
    return spread(spec, seed, 0.5, 1.0);
  if (name.ends_with("bias") && !name.ends_with("dt_bias"))
    return spread(spec, seed, -0.3, 0.3);
  if (decay == Decay::Slow && name.ends_with("dt_bias"))
    return spread(spec, seed, -1.0, 0.0);
  std::optional<InitSpec> init = spec.init;
  EXPECT_TRUE(init) << spec.name;
  std::vector<double> values = drawWeight(*init, spec.shape, spec.name, seed);
  if (decay == Decay::Slow && name.ends_with("A_log"))
    for (size_t head = 0; head < values.size(); head += 2)
      values[head] =
          std::log(0.004 + 0.003 * uniform01(seed ^ fnv1a64(name), head));
  if (decay == Decay::Resets &&
      (name.ends_with("in_proj.weight") || name.ends_with("A_log") ||
       name.ends_with("dt_bias")))
    addResets(name, spec, config, values);
  return values;
}

/// The largest that dt of a head can be: a normed row times norm weights of at
/// most 1 has length sqrt(d), so |dt - bias| <= |row of in_proj| sqrt(d).
double largestStep(const std::vector<double> &inProj,
                   const std::vector<double> &bias, const Mamba2Config &config,
                   double dtBias, int64_t head) {
  int64_t row = config.inProjSize() - config.numHeads + head;
  double square = 0;
  for (int64_t i = 0; i < config.hiddenSize; ++i) {
    double value = inProj[row * config.hiddenSize + i];
    square += value * value;
  }
  double constant = dtBias + (bias.empty() ? 0 : bias[row]);
  return softplus(std::sqrt(square * config.hiddenSize) + constant);
}

void checkSlowDecay(const std::map<std::string, std::vector<double>> &values,
                    const Mamba2Config &config) {
  for (int64_t layer = 0; layer < config.numLayers; ++layer) {
    std::string mixer = "backbone.layers." + std::to_string(layer) + ".mixer.";
    std::vector<double> bias;
    if (config.useBias)
      bias = values.at(mixer + "in_proj.bias");
    int64_t slow = 0;
    for (int64_t head = 0; head < config.numHeads; ++head) {
      double step =
          largestStep(values.at(mixer + "in_proj.weight"), bias, config,
                      values.at(mixer + "dt_bias")[head], head);
      double rate = std::exp(values.at(mixer + "A_log")[head]);
      slow += std::exp(-rate * step * sequenceLength) >= keptState;
    }
    EXPECT_GE(2 * slow, config.numHeads) << "layer " << layer;
  }
}

/// Rounded once from float, as cp-run draws.
uint16_t roundedBits(float value) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                 &inexact);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

} // namespace

HostTensor fromDoubles(DType dtype, std::vector<int64_t> shape,
                       llvm::ArrayRef<double> values) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t *place = tensor.bytes.data() + i * dtypeBytes(dtype);
    float narrow = static_cast<float>(values[i]);
    uint16_t bits = roundedBits(narrow);
    if (dtype == DType::F32)
      std::memcpy(place, &narrow, sizeof(narrow));
    else if (dtype == DType::BF16)
      std::memcpy(place, &bits, sizeof(bits));
    else
      std::memcpy(place, &values[i], sizeof(double));
  }
  return tensor;
}

std::vector<HostTensor> widened(llvm::ArrayRef<HostTensor> tensors) {
  std::vector<HostTensor> wide;
  for (const HostTensor &tensor : tensors)
    wide.push_back(
        tensor.dtype == DType::BF16 || tensor.dtype == DType::F32
            ? fromDoubles(DType::F64, tensor.shape, tensor.asDoubles())
            : tensor);
  return wide;
}

MLIRContext &context() {
  static MLIRContext &result = []() -> MLIRContext & {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    // Lives as long as the process: modules in static storage may outlive main.
    return *new MLIRContext(registry);
  }();
  return result;
}

OwningOpRef<ModuleOp> parse(llvm::StringRef text) {
  return parseSourceString<ModuleOp>(text, &context());
}

Mamba2Config smallConfig(int64_t groups) {
  Mamba2Config config;
  config.hiddenSize = 16;
  config.numLayers = 2;
  config.numHeads = 8;
  config.headDim = 4;
  config.stateSize = 8;
  config.numGroups = groups;
  config.convKernel = 4;
  config.vocabSize = config.paddedVocabSize = 24;
  config.chunkSize = 8;
  config.initializerRange = 0.1;
  config.useBias = groups == 2;
  config.normGroups = groups;
  config.dHasHeadDim = config.normBeforeGate = config.tieEmbeddings =
      groups == 8;
  return config;
}

const char *describe(Decay decay) {
  switch (decay) {
  case Decay::AsPublished:
    return "decay as published";
  case Decay::Slow:
    return "slow decay";
  case Decay::Resets:
    return "resets";
  }
  return "";
}

std::vector<HostTensor> drawInputs(llvm::ArrayRef<TensorSpec> specs,
                                   const Mamba2Config &config, Decay decay,
                                   uint64_t seed) {
  std::vector<HostTensor> tensors;
  std::map<std::string, std::vector<double>> values;
  for (const TensorSpec &spec : specs) {
    if (!spec.isParam) {
      tensors.push_back(drawIds(spec, config.vocabSize, seed));
      continue;
    }
    values[spec.name] = drawParameter(spec, config, decay, seed);
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values[spec.name]));
    values[spec.name] = tensors.back().asDoubles();
  }
  if (decay == Decay::Slow)
    checkSlowDecay(values, config);
  return tensors;
}

std::vector<const HostTensor *> pointersTo(llvm::ArrayRef<HostTensor> tensors) {
  std::vector<const HostTensor *> pointers;
  for (const HostTensor &tensor : tensors)
    pointers.push_back(&tensor);
  return pointers;
}

HostTensor floats(std::vector<int64_t> shape, llvm::ArrayRef<float> values) {
  return fromDoubles(DType::F32, std::move(shape),
                     std::vector<double>(values.begin(), values.end()));
}

std::vector<TestSharding> allShardings() {
  std::vector<TestSharding> all;
  for (int64_t ranks : {1, 2, 4, 8}) {
    all.push_back({"hidden", "chain", ranks});
    for (const char *scan :
         {"chain", "gather", "doubling", "pipelined", "transposed"})
      all.push_back({"sequence", scan, ranks});
  }
  return all;
}

std::string describe(const TestSharding &sharding) {
  return sharding.strategy + ", " + sharding.scan + ", " +
         std::to_string(sharding.ranks) + " ranks";
}

CompileOptions compileOptions(const TestSharding &sharding) {
  CompileOptions options;
  options.mesh = Mesh{{{"cp", sharding.ranks}}};
  if (sharding.strategy.empty())
    return options;
  options.sharding.emplace();
  options.sharding->mesh = options.mesh;
  options.sharding->mixer = *symbolizeCutStrategy(sharding.strategy);
  options.sharding->scan = *symbolizeScanAlgorithm(sharding.scan);
  return options;
}

std::unique_ptr<Program> compileWith(ModuleOp module,
                                     const CompileOptions &options) {
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(module, options);
  if (program)
    return std::move(*program);
  ADD_FAILURE() << llvm::toString(program.takeError());
  return nullptr;
}

std::unique_ptr<Program> compile(ModuleOp module,
                                 const TestSharding &sharding) {
  return compileWith(module, compileOptions(sharding));
}

std::unique_ptr<Program> compileQuickly(ModuleOp module,
                                        CompileOptions options) {
  options.optimize = false;
  return compileWith(module, options);
}

RunResult runOrFail(Program &program, llvm::ArrayRef<HostTensor> inputs,
                    cprt_kernel_set kernels) {
  RunOptions options;
  options.kernels = kernels;
  llvm::Expected<RunResult> result = program.run(pointersTo(inputs), options);
  if (result)
    return std::move(*result);
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

} // namespace cp::test
