//===- ReadModel.cpp - The model of the command line ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModel.h"

#include "cp/Frontend/HybridImporter.h"
#include "cp/Model/HFConfig.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"

using namespace mlir;

namespace cp {

static llvm::Expected<OwningOpRef<ModuleOp>>
importFrom(const llvm::MemoryBuffer &text, const TrainOptions &options,
           MLIRContext &context) {
  StringRef label = text.getBufferIdentifier();
  llvm::Expected<ModelConfig> config =
      parseModelConfig(text.getBuffer(), label);
  if (!config)
    return config.takeError();
  constexpr int64_t usualLength = 1024;
  ImportOptions import = {options.batchSize ? options.batchSize : 1,
                          options.sequence ? options.sequence : usualLength,
                          options.dtype.empty() ? "f32" : options.dtype,
                          /*lastToken=*/false, options.documents};
  OwningOpRef<ModuleOp> module =
      importModel(*config, import, FileLineColLoc::get(&context, label, 1, 1));
  if (!module)
    return llvm::createStringError("the model cannot be imported");
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> readModel(const TrainOptions &options,
                                                MLIRContext &context,
                                                llvm::SourceMgr &sources) {
  const std::string &path = options.run.model;
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return llvm::createStringError(message);
  if (StringRef(path).ends_with(".json"))
    return importFrom(*file, options, context);
  if (options.batchSize || options.sequence || !options.dtype.empty() ||
      options.documents)
    return llvm::createStringError(
        "--batch-size, --seq, --dtype and --documents are for a config.json; a "
        "module has sizes and types of its own, so leave them out, or import "
        "it by cp-translate with others");
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return llvm::createStringError("the model cannot be read");
  return module;
}

} // namespace cp
