//===- Mamba2Importer.cpp - A published model as IR -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Frontend/Mamba2Importer.h"

#include "ModelBuilder.h"

using namespace mlir;

namespace cp {

OwningOpRef<ModuleOp> importMamba2(const Mamba2Config &config,
                                   const ImportOptions &options,
                                   Location location) {
  std::optional<ModelBuilder> model =
      ModelBuilder::create(config, options, location);
  if (!model)
    return {};
  StringRef embedding = "backbone.embeddings.weight";
  Value hidden = model->begin(weightsOf(config), embedding);
  for (int64_t i = 0; i < config.numLayers; ++i) {
    std::string layer = "backbone.layers." + std::to_string(i);
    hidden = model->addBlock(hidden, layer + ".norm.weight", [&](Value u) {
      return model->mixer(u, layer + ".mixer", config);
    });
  }
  return model->finish(hidden, "backbone.norm_f.weight",
                       config.tieEmbeddings ? embedding : "lm_head.weight");
}

} // namespace cp
