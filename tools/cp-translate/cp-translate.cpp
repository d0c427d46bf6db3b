//===- cp-translate.cpp - From published configurations to IR ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "cp/Frontend/HybridImporter.h"
#include "cp/Model/HFConfig.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace {

struct ImportFlags {
  cp::OwnFlag<int64_t> batch{"batch", llvm::cl::desc("Sequences at a time"),
                             llvm::cl::init(1)};
  llvm::cl::alias batchSize{"batch-size",
                            llvm::cl::desc("--batch, as other tools have it"),
                            llvm::cl::aliasopt(batch)};
  cp::OwnFlag<int64_t> sequence{"seq", llvm::cl::desc("Tokens in a sequence"),
                                llvm::cl::init(1024)};
  llvm::cl::opt<std::string> dtype{
      "dtype",
      llvm::cl::desc("Type of weights and activations: f32, f64 or bf16"),
      llvm::cl::init("f32")};
  llvm::cl::opt<bool> lastToken{
      "last-token",
      llvm::cl::desc("Logits of the last token of each sequence only")};
  cp::OwnFlag<int64_t> documents{
      "documents",
      llvm::cl::desc(
          "The most documents behind each other in a row, whose ends "
          "an argument cu_seqlens then says; 0: a row is one"),
      llvm::cl::init(0)};
  llvm::cl::opt<std::string> semantics{
      "semantics",
      llvm::cl::desc(
          "Whose model, where they differ: transformers (5.23 and "
          "later), transformers-ungrouped (before) or mamba_ssm; the "
          "default is the library that the file is for"),
      llvm::cl::init("")};
};

OwningOpRef<Operation *> importConfig(llvm::SourceMgr &source,
                                      MLIRContext *context,
                                      const ImportFlags &flags) {
  const llvm::MemoryBuffer *buffer =
      source.getMemoryBuffer(source.getMainFileID());
  StringRef label = buffer->getBufferIdentifier();
  // With an error MLIR prints the line it is at, which may be the whole file:
  // not where there is no column.
  constexpr size_t longestLine = 200;
  bool isShort =
      buffer->getBuffer().take_until([](char c) { return c == '\n'; }).size() <=
      longestLine;
  Location location = FileLineColLoc::get(context, label, 1, isShort ? 1 : 0);
  std::optional<cp::Semantics> semantics;
  if (!flags.semantics.empty()) {
    semantics = cp::parseSemantics(flags.semantics);
    if (!semantics) {
      emitError(location) << "--semantics must be transformers, "
                             "transformers-ungrouped or mamba_ssm, but is '"
                          << flags.semantics << "'";
      return {};
    }
  }
  llvm::Expected<cp::ModelConfig> config =
      cp::parseModelConfig(buffer->getBuffer(), label, semantics);
  if (!config) {
    emitError(location) << llvm::toString(config.takeError());
    return {};
  }
  for (const std::string &remark : cp::remarksOf(*config))
    emitRemark(location) << remark;
  cp::ImportOptions options{flags.batch, flags.sequence, flags.dtype,
                            flags.lastToken, flags.documents};
  OwningOpRef<ModuleOp> module = cp::importModel(*config, options, location);
  return module ? OwningOpRef<Operation *>(module.release()) : nullptr;
}

} // namespace

int main(int argc, char **argv) {
  static ImportFlags flags;
  TranslateToMLIRRegistration registration(
      "import-hf", "Import a published model's config.json",
      [](llvm::SourceMgr &source, MLIRContext *context) {
        return importConfig(source, context, flags);
      },
      [](DialectRegistry &registry) { cp::registerAllDialects(registry); });
  return failed(mlirTranslateMain(argc, argv, "Frontends of cp-mlir"));
}
