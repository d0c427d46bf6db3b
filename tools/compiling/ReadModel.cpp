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
namespace cl = llvm::cl;

namespace cp {

static llvm::Expected<OwningOpRef<ModuleOp>>
importFrom(const llvm::MemoryBuffer &text, const ModelSizes &sizes,
           MLIRContext &context) {
  StringRef label = text.getBufferIdentifier();
  llvm::Expected<ModelConfig> config =
      parseModelConfig(text.getBuffer(), label);
  if (!config)
    return config.takeError();
  constexpr int64_t usualLength = 1024;
  ImportOptions import = {sizes.batchSize.value_or(1),
                          sizes.sequence.value_or(usualLength),
                          sizes.dtype.empty() ? "f32" : sizes.dtype,
                          /*lastToken=*/false, sizes.documents};
  OwningOpRef<ModuleOp> module =
      importModel(*config, import, FileLineColLoc::get(&context, label, 1, 1));
  if (!module)
    return llvm::createStringError("the model cannot be imported");
  return module;
}

void defineSizes(ModelSizes &o, cl::OptionCategory &category) {
  static OwnFlag<int64_t> batchSize(
      "batch-size", cl::desc("config.json: sequences of a batch (default: 1)"),
      cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.batchSize = value; }));
  static OwnFlag<int64_t> sequence(
      "seq", cl::desc("config.json: tokens of a sequence (default: 1024)"),
      cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.sequence = value; }));
  static WordFlag dtype(
      "dtype", cl::desc("config.json: f32, f64 or bf16 (default: f32)"),
      cl::location(o.dtype), cl::cat(category));
  static Flag<int64_t> documents(
      "documents",
      cl::desc("config.json: the most documents of a row (default: a row is "
               "one); of running text, --document-end of cp-train and "
               "cp-launch says where they end"),
      cl::location(o.documents), cl::init(0), cl::cat(category));
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openModel(const std::string &path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return llvm::createStringError(message);
  if (file->getBuffer().starts_with("\177ELF"))
    return llvm::createStringError(
        path + ": is a compiled program, which cp-launch runs; a model is a "
               "module of MLIR or a config.json");
  return file;
}

llvm::Expected<OwningOpRef<ModuleOp>> readModel(const std::string &path,
                                                const ModelSizes &sizes,
                                                MLIRContext &context,
                                                llvm::SourceMgr &sources) {
  auto file = openModel(path);
  if (!file)
    return file.takeError();
  if (StringRef(path).ends_with(".json"))
    return importFrom(**file, sizes, context);
  if (sizes.batchSize || sizes.sequence || !sizes.dtype.empty() ||
      sizes.documents)
    return llvm::createStringError(
        "--batch-size, --seq, --dtype and --documents are for a config.json; a "
        "module has sizes and types of its own, so leave them out, or import "
        "it by cp-translate with others");
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return llvm::createStringError("the model cannot be read");
  return module;
}

} // namespace cp
