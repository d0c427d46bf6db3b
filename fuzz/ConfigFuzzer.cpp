//===- ConfigFuzzer.cpp - Any text as a config.json, then imported --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cp/Frontend/HybridImporter.h"
#include "cp/Model/HFConfig.h"
#include "cp/Model/Weights.h"
#include "mlir/IR/Diagnostics.h"

using namespace cp;

/// More layers run the same code more often, and the reader has its own limit.
static constexpr int64_t mostLayers = 4;

static void checkConfig(const LanguageModel &model, const MixerConfig &mixer,
                        const std::vector<WeightSpec> &weights) {
  fuzz::require(mixer.numGroups > 0 && mixer.numHeads > 0 &&
                    mixer.numHeads % mixer.numGroups == 0,
                "groups do not divide the heads");
  fuzz::require(model.paddedVocabSize >= model.vocabSize,
                "the padded vocabulary is the smaller one");
  for (const WeightSpec &weight : weights)
    fuzz::require(tensorBytes(weight.shape, DType::F64).has_value(),
                  weight.name + " has a size that overflows");
}

/// What the reader accepts, the importer turns into valid IR or says why not.
static void checkImport(const ModelConfig &config, llvm::StringRef dtype) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  bool explained = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &) {
    explained = true;
    return mlir::success();
  });
  ImportOptions options;
  options.batch = 2;
  options.sequence = 16;
  options.dtype = dtype.str();
  auto module = importModel(config, options, mlir::UnknownLoc::get(&context));
  fuzz::require(module || explained, "a model was refused without a reason");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  for (std::optional<Semantics> semantics :
       {std::optional<Semantics>(), std::optional(Semantics::Transformers),
        std::optional(Semantics::TransformersUngrouped),
        std::optional(Semantics::MambaSSM)}) {
    auto config = parseModelConfig(text, "config.json", semantics);
    if (!fuzz::accepted(config))
      continue;
    auto check = [&](const auto &model, const MixerConfig &mixer) {
      if (model.numLayers > mostLayers)
        return;
      checkConfig(model, mixer, weightsOf(model));
      checkImport(*config, semantics ? "f32" : "bf16");
    };
    if (const auto *hybrid = std::get_if<HybridConfig>(&*config))
      check(*hybrid, hybrid->mamba);
    else if (const auto *mamba = std::get_if<Mamba2Config>(&*config))
      check(*mamba, *mamba);
  }
  return 0;
}
