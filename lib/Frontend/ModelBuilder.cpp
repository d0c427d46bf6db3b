//===- ModelBuilder.cpp - A model's function around its blocks --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "Mlp.h"
#include "cp/Frontend/InitAttr.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "cp/IR/Projection.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

static FloatType elementType(StringRef dtype, MLIRContext *context) {
  if (dtype == "f32")
    return Float32Type::get(context);
  if (dtype == "f64")
    return Float64Type::get(context);
  if (dtype == "bf16")
    return BFloat16Type::get(context);
  return {};
}

std::optional<ModelBuilder> ModelBuilder::create(const LanguageModel &model,
                                                 const ImportOptions &options,
                                                 Location location,
                                                 const Multipliers &factors) {
  MLIRContext *context = location.getContext();
  context->loadDialect<CPDialect, arith::ArithDialect, func::FuncDialect,
                       linalg::LinalgDialect, math::MathDialect,
                       tensor::TensorDialect>();
  constexpr int64_t most = int64_t(1) << 31;
  if (options.batch < 1 || options.sequence < 1 || options.batch > most ||
      options.sequence > most) {
    emitError(location) << "batch and sequence must be between 1 and " << most
                        << ", but are " << options.batch << " and "
                        << options.sequence;
    return std::nullopt;
  }
  if (options.documents < 0 || options.documents >= most ||
      (options.documents && options.sequence == most)) {
    emitError(location) << "documents must be between 0 and " << most - 1
                        << ", of no more than " << most - 1
                        << " tokens, but are " << options.documents << " of "
                        << options.sequence;
    return std::nullopt;
  }
  FloatType element = elementType(options.dtype, context);
  if (!element) {
    emitError(location) << "dtype must be f32, f64 or bf16, but is '"
                        << options.dtype << "'";
    return std::nullopt;
  }
  return ModelBuilder(model, options, element, location, factors);
}

ModelBuilder::ModelBuilder(const LanguageModel &model,
                           const ImportOptions &options, FloatType element,
                           Location location, const Multipliers &multipliers)
    : model(model), options(options), element(element),
      multipliers(multipliers), b(location, location.getContext()) {}

Value ModelBuilder::begin(ArrayRef<WeightSpec> weights, StringRef embedding) {
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types = {
      RankedTensorType::get({options.batch, options.sequence}, b.getI32Type())};
  SmallVector<DictionaryAttr> attributes = {tokenAttributes()};
  if (options.documents) {
    types.push_back(RankedTensorType::get(
        {options.batch, options.documents + 1}, b.getI32Type()));
    attributes.push_back(documentAttributes());
  }
  for (const WeightSpec &spec : weights)
    types.push_back(tensor(spec.shape));
  int64_t tokens = options.lastToken ? 1 : options.sequence;
  Type logits = tensor({options.batch, tokens, model.paddedVocabSize});
  function = func::FuncOp::create(b, "main", b.getFunctionType(types, logits));
  function.setResultAttr(0, nameAttr, b.getStringAttr("logits"));
  if (!model.trainingOnly.empty()) {
    SmallVector<StringRef> fields(model.trainingOnly.begin(),
                                  model.trainingOnly.end());
    function->setAttr(trainingOnlyAttr, b.getStrArrayAttr(fields));
  }
  Block *body = function.addEntryBlock();
  if (options.documents)
    arguments[documentsName] = body->getArgument(1);
  for (const WeightSpec &spec : weights) {
    arguments[spec.name] = body->getArgument(attributes.size());
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr(paramAttr, b.getStringAttr(spec.name)),
         b.getNamedAttr(initAttr, toAttr(b.getContext(), spec.init))}));
  }
  // All at once: each new list would live as long as the context.
  function.setAllArgAttrs(attributes);
  b.setInsertionPointToStart(body);
  IntegerAttr padding;
  if (model.paddingToken)
    padding = b.getI64IntegerAttr(*model.paddingToken);
  Value rows = EmbeddingOp::create(b, stateType(), body->getArgument(0),
                                   weight(embedding), padding);
  return toResidual(createScaled(b, rows, multipliers.embedding));
}

Value ModelBuilder::addBlock(Value hidden, StringRef normName,
                             function_ref<Value(Value)> block) {
  Value normed = norm(toElement(hidden), weight(normName));
  Value added = createScaled(b, block(normed), multipliers.residual);
  return arith::AddFOp::create(b, hidden, toResidual(added));
}

OwningOpRef<ModuleOp> ModelBuilder::finish(Value hidden, StringRef normName,
                                           StringRef head) {
  // What follows works on each token by itself.
  if (options.lastToken)
    hidden = lastToken(hidden);
  Value normed = norm(toElement(hidden), weight(normName));
  // Before the head, where there are fewer channels than logits.
  normed = createDivided(b, normed, multipliers.logitsDivisor);
  func::ReturnOp::create(b, createProjection(b, normed, weight(head)));
  if (failed(module->verify()))
    return {};
  return std::move(module);
}

RankedTensorType ModelBuilder::stateType() const {
  return tensor({options.batch, options.sequence, model.hiddenSize});
}

DictionaryAttr ModelBuilder::tokenAttributes() {
  // Ids that are drawn must be of the vocabulary.
  DictionaryAttr init = toAttr(b.getContext(), InitSpec::ids(model.vocabSize));
  return b.getDictionaryAttr(
      {b.getNamedAttr(nameAttr, b.getStringAttr("input_ids")),
       b.getNamedAttr(sequenceAttr, b.getI64IntegerAttr(1)),
       b.getNamedAttr(initAttr, init)});
}

DictionaryAttr ModelBuilder::documentAttributes() {
  DictionaryAttr init =
      toAttr(b.getContext(), InitSpec::documents(options.sequence));
  return b.getDictionaryAttr(
      {b.getNamedAttr(nameAttr, b.getStringAttr(documentsName)),
       b.getNamedAttr(initAttr, init)});
}

/// The residual stream is f32 where the model asks for it and weights are
/// less.
bool ModelBuilder::residualIsWider() {
  return model.residualInF32 && element.getWidth() < 32;
}

Value ModelBuilder::toResidual(Value x) {
  if (!residualIsWider())
    return x;
  return arith::ExtFOp::create(b, stateType().clone(b.getF32Type()), x);
}

Value ModelBuilder::toElement(Value x) {
  if (!residualIsWider())
    return x;
  Type type = cast<RankedTensorType>(x.getType()).clone(element);
  return arith::TruncFOp::create(b, type, x);
}

/// `[batch, sequence, hidden]` to `[batch, 1, hidden]`.
Value ModelBuilder::lastToken(Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> sizes(type.getShape());
  sizes[1] = 1;
  auto list = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(b.getContext(), values);
  };
  return tensor::ExtractSliceOp::create(b, type.clone(sizes), x,
                                        list({0, options.sequence - 1, 0}),
                                        list(sizes), list({1, 1, 1}));
}

Value ModelBuilder::norm(Value x, Value scale) {
  return RmsNormOp::create(b, x.getType(), x, scale, Value(),
                           b.getF64FloatAttr(model.normEpsilon),
                           b.getI64IntegerAttr(1), b.getBoolAttr(true));
}

/// torch's depthwise weight is [channels, 1, window].
static Value collapseWeight(ImplicitLocOpBuilder &b, Value value) {
  SmallVector<ReassociationIndices> groups = {{0}, {1, 2}};
  return tensor::CollapseShapeOp::create(b, value, groups);
}

Value ModelBuilder::mixer(Value u, const std::string &name,
                          const MixerConfig &config) {
  auto i64 = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  Value perHead = skip(weight(name + ".D"), config);
  Value window = collapseWeight(b, weight(name + ".conv1d.weight"));
  return MambaMixerOp::create(
      b, u.getType(), u, weight(name + ".in_proj.weight"),
      weight(name + ".in_proj.bias"), window, weight(name + ".conv1d.bias"),
      weight(name + ".dt_bias"), weight(name + ".A_log"), perHead,
      weight(name + ".norm.weight"), weight(name + ".out_proj.weight"),
      weight(name + ".out_proj.bias"), documents(), i64(config.numHeads),
      i64(config.headDim), i64(config.numGroups), i64(config.stateSize),
      // A published chunk serves GPUs; on a CPU states stay in cache with
      // less.
      i64(std::min<int64_t>(config.chunkSize, 64)), i64(config.normGroups),
      b.getBoolAttr(!config.normBeforeGate),
      b.getF64FloatAttr(config.gatedNormEpsilon),
      b.getF64FloatAttr(config.dtMin), b.getF64FloatAttr(config.dtMax),
      StringAttr());
}

/// With a head dimension D is stored flat, [heads * head_dim].
Value ModelBuilder::skip(Value value, const MixerConfig &config) {
  if (!config.dHasHeadDim)
    return value;
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  return tensor::ExpandShapeOp::create(
      b, tensor({config.numHeads, config.headDim}), value, groups);
}

} // namespace cp
