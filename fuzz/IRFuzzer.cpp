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
// Findings: a crash, a sanitizer's report, a hang, IR that prints as something
// else than what it reads as, IR that a pass leaves invalid though it succeeds,
// and a failure without an error.
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

#include <optional>

using namespace mlir;
using namespace cp;

namespace {

/// The errors so far.
struct Errors {
  int count = 0;
  std::string last;

  void note(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    ++count;
    last = diagnostic.str();
  }
};

/// Verifies after each pass that says it has succeeded.
class VerifyAfterPass : public PassInstrumentation {
public:
  explicit VerifyAfterPass(const Errors &errors) : errors(errors) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (failed(mlir::verify(op)))
      fuzz::finding(pass->getName() +
                    " succeeds and leaves invalid IR: " + errors.last);
  }

private:
  const Errors &errors;
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

/// Whether `passes` names passes of ours; `errors` gets what they say.
static bool runPasses(ModuleOp module, StringRef passes, const Errors &errors) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      PassManager::Nesting::Implicit);
  if (failed(parsePassPipeline(passes, manager, llvm::nulls())))
    return false;
  // The instrumentation tells an invalid result from a failed pass.
  manager.enableVerifier(false);
  manager.addInstrumentation(std::make_unique<VerifyAfterPass>(errors));
  int before = errors.count;
  if (failed(manager.run(module)))
    fuzz::require(errors.count > before, "passes fail without an error");
  return true;
}

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// What is printed must be read as the same again.
static void checkRoundTrip(ModuleOp module, Errors &errors) {
  std::string once = printed(module);
  // A context has one resource of a name, and would rename those of a second
  // module.
  std::optional<MLIRContext> another;
  std::optional<ScopedDiagnosticHandler> handler;
  MLIRContext *context = module.getContext();
  if (StringRef(once).contains("dense_resource<")) {
    context = &another.emplace(registry(), MLIRContext::Threading::DISABLED);
    handler.emplace(context, [&](Diagnostic &diagnostic) {
      errors.note(diagnostic);
      return success();
    });
  }
  OwningOpRef<ModuleOp> again =
      parseSourceString<ModuleOp>(once, ParserConfig(context));
  fuzz::require(bool(again), "IR is printed as what cannot be read: " +
                                 errors.last + "\n" + once);
  std::string twice = printed(*again);
  fuzz::require(once == twice,
                "IR changes when it is read again:\n" + once + twice);
}

/// Keeps an input from being a start for others. What the parser or a verifier
/// refuses is run, but nearly all its changes would be refused too.
static constexpr int rejected = -1;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fuzz::hasUpstreamBug(
          StringRef(reinterpret_cast<const char *>(data), size)))
    return rejected;
  // The lexer looks for the zero behind the end.
  std::string text(reinterpret_cast<const char *>(data), size);
  MLIRContext context(registry(), MLIRContext::Threading::DISABLED);
  Errors errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors.note(diagnostic);
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module) {
    fuzz::require(errors.count > 0, "IR was refused without an error");
    return rejected;
  }
  checkRoundTrip(*module, errors);
  return runPasses(*module, passesOf(text), errors) ? 0 : rejected;
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
