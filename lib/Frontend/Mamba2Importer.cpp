//===- Mamba2Importer.cpp - A published model as IR -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Frontend/Mamba2Importer.h"

#include "cp/IR/Projection.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace cp {
namespace {

/// Builds `main`: the arguments from the list of weights, then layer by layer.
class ModelBuilder {
public:
  ModelBuilder(const Mamba2Config &config, const ImportOptions &options,
               FloatType element, Location location)
      : config(config), options(options), element(element),
        b(location, location.getContext()) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getLoc());
    b.setInsertionPointToEnd(module->getBody());
    makeFunction();
    Value hidden =
        toResidual(EmbeddingOp::create(b, stateType(), function.getArgument(0),
                                       weight("backbone.embeddings.weight")));
    for (int64_t layer = 0; layer < config.numLayers; ++layer)
      hidden = addLayer(hidden, "backbone.layers." + std::to_string(layer));
    hidden = norm(toElement(hidden), weight("backbone.norm_f.weight"));
    StringRef head =
        config.tieEmbeddings ? "backbone.embeddings.weight" : "lm_head.weight";
    func::ReturnOp::create(b, createProjection(b, hidden, weight(head)));
    return module;
  }

private:
  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType stateType() {
    return tensor({options.batch, options.sequence, config.hiddenSize});
  }

  void makeFunction() {
    std::vector<WeightSpec> weights = weightsOf(config);
    SmallVector<Type> types = {RankedTensorType::get(
        {options.batch, options.sequence}, b.getI32Type())};
    for (const WeightSpec &spec : weights)
      types.push_back(tensor(spec.shape));
    Type logits =
        tensor({options.batch, options.sequence, config.paddedVocabSize});
    function =
        func::FuncOp::create(b, "main", b.getFunctionType(types, logits));
    function.setResultAttr(0, nameAttr, b.getStringAttr("logits"));
    SmallVector<DictionaryAttr> attributes = {tokenAttributes()};
    Block *body = function.addEntryBlock();
    for (auto [index, spec] : llvm::enumerate(weights)) {
      attributes.push_back(b.getDictionaryAttr(
          {b.getNamedAttr(paramAttr, b.getStringAttr(spec.name)),
           b.getNamedAttr(initAttr, toAttr(b.getContext(), spec.init))}));
      arguments[spec.name] = body->getArgument(index + 1);
    }
    // All at once: each new list would live as long as the context.
    function.setAllArgAttrs(attributes);
    b.setInsertionPointToStart(body);
  }

  DictionaryAttr tokenAttributes() {
    // Ids that are drawn must be of the vocabulary.
    DictionaryAttr init = b.getDictionaryAttr(
        {b.getNamedAttr("kind", b.getStringAttr("ids")),
         b.getNamedAttr("below", b.getI64IntegerAttr(config.vocabSize))});
    return b.getDictionaryAttr(
        {b.getNamedAttr(nameAttr, b.getStringAttr("input_ids")),
         b.getNamedAttr(sequenceAttr, b.getI64IntegerAttr(1)),
         b.getNamedAttr(initAttr, init)});
  }

  /// The residual stream is f32 where the model asks for it and weights are
  /// less.
  bool residualIsWider() {
    return config.residualInF32 && element.getWidth() < 32;
  }
  Value toResidual(Value x) {
    if (!residualIsWider())
      return x;
    return arith::ExtFOp::create(b, stateType().clone(b.getF32Type()), x);
  }
  Value toElement(Value x) {
    if (!residualIsWider())
      return x;
    return arith::TruncFOp::create(b, stateType(), x);
  }

  /// Null for a weight that this model has not.
  Value weight(const Twine &name) { return arguments.lookup(name.str()); }

  Value norm(Value x, Value scale) {
    return RmsNormOp::create(b, x.getType(), x, scale, Value(),
                             b.getF64FloatAttr(config.normEpsilon),
                             b.getI64IntegerAttr(1), b.getBoolAttr(true));
  }

  Value addLayer(Value hidden, const std::string &layer) {
    Value normed = norm(toElement(hidden), weight(layer + ".norm.weight"));
    return arith::AddFOp::create(b, hidden,
                                 toResidual(mixer(normed, layer + ".mixer")));
  }

  Value mixer(Value u, const std::string &name) {
    auto i64 = [&](int64_t value) { return b.getI64IntegerAttr(value); };
    return MambaMixerOp::create(
        b, u.getType(), u, weight(name + ".in_proj.weight"),
        weight(name + ".in_proj.bias"),
        collapseWeight(weight(name + ".conv1d.weight")),
        weight(name + ".conv1d.bias"), weight(name + ".dt_bias"),
        weight(name + ".A_log"), skip(weight(name + ".D")),
        weight(name + ".norm.weight"), weight(name + ".out_proj.weight"),
        weight(name + ".out_proj.bias"), i64(config.numHeads),
        i64(config.headDim), i64(config.numGroups), i64(config.stateSize),
        // A published chunk serves GPUs; on a CPU states stay in cache with
        // less.
        i64(std::min<int64_t>(config.chunkSize, 64)), i64(config.normGroups),
        b.getBoolAttr(!config.normBeforeGate),
        b.getF64FloatAttr(config.gatedNormEpsilon),
        b.getF64FloatAttr(config.dtMin), b.getF64FloatAttr(config.dtMax),
        StringAttr());
  }

  /// torch's depthwise weight is [channels, 1, window].
  Value collapseWeight(Value value) {
    SmallVector<ReassociationIndices> groups = {{0}, {1, 2}};
    return tensor::CollapseShapeOp::create(b, value, groups);
  }

  /// With a head dimension D is stored flat, [heads * head_dim].
  Value skip(Value value) {
    if (!config.dHasHeadDim)
      return value;
    SmallVector<ReassociationIndices> groups = {{0, 1}};
    return tensor::ExpandShapeOp::create(
        b, tensor({config.numHeads, config.headDim}), value, groups);
  }

  const Mamba2Config &config;
  const ImportOptions &options;
  FloatType element;
  ImplicitLocOpBuilder b;
  func::FuncOp function;
  llvm::StringMap<Value> arguments;
};

} // namespace

OwningOpRef<ModuleOp> importMamba2(const Mamba2Config &config,
                                   const ImportOptions &options,
                                   Location location) {
  location.getContext()
      ->loadDialect<CPDialect, arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, tensor::TensorDialect>();
  constexpr int64_t most = int64_t(1) << 31;
  if (options.batch < 1 || options.sequence < 1 || options.batch > most ||
      options.sequence > most) {
    emitError(location) << "batch and sequence must be between 1 and " << most
                        << ", but are " << options.batch << " and "
                        << options.sequence;
    return {};
  }
  FloatType element;
  if (options.dtype == "f32")
    element = Float32Type::get(location.getContext());
  else if (options.dtype == "f64")
    element = Float64Type::get(location.getContext());
  else if (options.dtype == "bf16")
    element = BFloat16Type::get(location.getContext());
  if (!element) {
    emitError(location) << "dtype must be f32, f64 or bf16, but is '"
                        << options.dtype << "'";
    return {};
  }
  OwningOpRef<ModuleOp> module =
      ModelBuilder(config, options, element, location).build();
  if (failed(module->verify()))
    return {};
  return module;
}

} // namespace cp
