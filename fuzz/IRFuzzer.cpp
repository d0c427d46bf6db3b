//===- IRFuzzer.cpp - Any text as IR, then any of our passes --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is IR with a first line that names the passes, as for
// cp-opt --pass-pipeline but without the anchor:
//   //! cp-shard-pipeline{mesh=cp=4 mixer=hidden},cp-lower-pipeline
// Findings: a crash, a sanitizer's report, a hang, IR that a pass leaves
// invalid though it succeeds, and a failure without an error.
//
//===----------------------------------------------------------------------===//

#include "IRMutator.h"
#include "Report.h"
#include "UpstreamBugs.h"

#include "cp/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace cp;

namespace {

/// Verifies after each pass that says it has succeeded.
class VerifyAfterPass : public PassInstrumentation {
public:
  void runAfterPass(Pass *pass, Operation *op) override {
    if (failed(mlir::verify(op)))
      fuzz::finding(pass->getName() + " succeeds and leaves invalid IR");
  }
};

} // namespace

static const DialectRegistry &registry() {
  static const DialectRegistry &shared = [&]() -> const DialectRegistry & {
    cp::registerAllPasses();
    static DialectRegistry all;
    registerAllDialects(all);
    registerAllExtensions(all);
    return all;
  }();
  return shared;
}

/// The passes that the first line names; empty without such a line.
static StringRef passesOf(StringRef text) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  return line.consume_front("//! ") ? line : StringRef();
}

static void runPasses(ModuleOp module, StringRef passes, const int &errors) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      PassManager::Nesting::Implicit);
  if (failed(parsePassPipeline(passes, manager, llvm::nulls())))
    return;
  // The instrumentation tells an invalid result from a failed pass.
  manager.enableVerifier(false);
  manager.addInstrumentation(std::make_unique<VerifyAfterPass>());
  int before = errors;
  if (failed(manager.run(module)))
    fuzz::require(errors > before, "passes fail without an error");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fuzz::hasUpstreamBug(
          StringRef(reinterpret_cast<const char *>(data), size)))
    return -1;
  // The lexer looks for the zero behind the end.
  std::string text(reinterpret_cast<const char *>(data), size);
  MLIRContext context(registry(), MLIRContext::Threading::DISABLED);
  int errors = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module) {
    fuzz::require(errors > 0, "IR was refused without an error");
    return 0;
  }
  StringRef passes = passesOf(text);
  if (!passes.empty())
    runPasses(*module, passes, errors);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// One input in eight is mutated as bytes: that rarely parses.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  StringRef text(reinterpret_cast<const char *>(data), size);
  std::string out = fuzz::mutateIR(text, seed);
  size_t length = std::min(out.size(), maxSize);
  std::copy_n(out.begin(), length, data);
  return length;
}
