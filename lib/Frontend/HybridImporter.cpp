//===- HybridImporter.cpp - A published hybrid as IR ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Frontend/HybridImporter.h"

#include "Mlp.h"
#include "ModelBuilder.h"
#include "cp/Frontend/Mamba2Importer.h"
#include "cp/IR/Projection.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

/// The blocks of one hybrid.
class BlockBuilder {
public:
  BlockBuilder(const HybridConfig &config, ModelBuilder &model)
      : config(config), model(model), b(model.builder()) {}

  Value build(const HybridBlock &block, Value u) {
    switch (block.kind) {
    case BlockKind::Mamba:
      return model.mixer(u, block.module, config.mamba);
    case BlockKind::Attention:
      return attention(u, block.module);
    case BlockKind::Mlp:
      return mlp(u, block.module);
    }
    llvm_unreachable("every kind of block is handled above");
  }

private:
  Value attention(Value u, const std::string &name) {
    const AttentionConfig &c = config.attention;
    auto weight = [&](const char *which) {
      return model.weight(name + which + "_proj.weight");
    };
    auto bias = [&](const char *which) {
      return model.weight(name + which + "_proj.bias");
    };
    FloatAttr theta;
    IntegerAttr dims;
    if (c.ropeTheta) {
      theta = b.getF64FloatAttr(*c.ropeTheta);
      dims = b.getI64IntegerAttr(c.rotaryDims);
    }
    return AttentionBlockOp::create(
        b, u.getType(), u, weight(".q"), bias(".q"), weight(".k"), bias(".k"),
        weight(".v"), bias(".v"), weight(".o"), bias(".o"), model.documents(),
        b.getI64IntegerAttr(c.heads), b.getI64IntegerAttr(c.keyHeads),
        b.getI64IntegerAttr(c.headDim), /*causal=*/b.getBoolAttr(true),
        c.scale ? b.getF64FloatAttr(*c.scale) : FloatAttr(),
        /*window=*/b.getI64IntegerAttr(0), theta, dims,
        /*form=*/StringAttr());
  }

  Value linear(Value x, const std::string &name, Parallel parallel) {
    return createLinear(b, x, model.weight(name + ".weight"),
                        model.weight(name + ".bias"), parallel);
  }

  /// The half of input_linear that stands `half` halves behind its start.
  Value packed(Value x, const std::string &name, int64_t half) {
    Value weight = model.weight(name + ".input_linear.weight");
    int64_t rows = config.mlp.size;
    int64_t columns = cast<RankedTensorType>(weight.getType()).getDimSize(1);
    auto type =
        RankedTensorType::get({rows, columns}, getElementTypeOrSelf(weight));
    auto list = [&](int64_t first, int64_t second) {
      return SmallVector<OpFoldResult>{b.getIndexAttr(first),
                                       b.getIndexAttr(second)};
    };
    Value part = tensor::ExtractSliceOp::create(
        b, type, weight, list(half * rows, 0), list(rows, columns), list(1, 1));
    return createLinear(b, x, part, Value(), Parallel::Columns);
  }

  Value mlp(Value u, const std::string &name) {
    switch (config.mlp.form) {
    case MlpForm::SwiGlu: {
      Value up = linear(u, name + ".up_proj", Parallel::Columns);
      Value gate = linear(u, name + ".gate_proj", Parallel::Columns);
      return linear(createSwiGlu(b, gate, up), name + ".down_proj",
                    Parallel::Rows);
    }
    case MlpForm::PackedSwiGlu: {
      Value gate = packed(u, name, 0), up = packed(u, name, 1);
      return linear(createSwiGlu(b, gate, up), name + ".output_linear",
                    Parallel::Rows);
    }
    case MlpForm::SquaredRelu:
      break;
    }
    Value up = linear(u, name + ".up_proj", Parallel::Columns);
    return linear(createSquaredRelu(b, up), name + ".down_proj",
                  Parallel::Rows);
  }

  const HybridConfig &config;
  ModelBuilder &model;
  ImplicitLocOpBuilder &b;
};

} // namespace

OwningOpRef<ModuleOp> importHybrid(const HybridConfig &config,
                                   const ImportOptions &options,
                                   Location location) {
  std::optional<ModelBuilder> model =
      ModelBuilder::create(config, options, location, config.multipliers);
  if (!model)
    return {};
  StringRef embedding = config.family->embedding;
  Value hidden = model->begin(weightsOf(config), embedding);
  BlockBuilder blocks(config, *model);
  for (const HybridBlock &block : blocksOf(config))
    hidden = model->addBlock(hidden, block.norm,
                             [&](Value u) { return blocks.build(block, u); });
  return model->finish(hidden, config.family->lastNorm,
                       config.tieEmbeddings ? embedding : "lm_head.weight");
}

OwningOpRef<ModuleOp> importModel(const ModelConfig &config,
                                  const ImportOptions &options,
                                  Location location) {
  if (const auto *hybrid = std::get_if<HybridConfig>(&config))
    return importHybrid(*hybrid, options, location);
  return importMamba2(std::get<Mamba2Config>(config), options, location);
}

} // namespace cp
