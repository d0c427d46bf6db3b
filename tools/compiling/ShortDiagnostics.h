//===- ShortDiagnostics.h - Errors that can be read -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CP_RUN_SHORTDIAGNOSTICS_H
#define CP_TOOLS_CP_RUN_SHORTDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <map>
#include <string>

namespace cp {

/// Stands in front of a SourceMgrDiagnosticHandler: of each kind of diagnostic
/// ten are printed, then how many more there were; of a line of the source that
/// is longer than 200 characters (a constant, mostly) only what is around the
/// place. Models repeat a fault in each layer.
class ShortDiagnostics {
public:
  /// To be made after the other handler. Both live as long as this.
  ShortDiagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context);
  ShortDiagnostics(const ShortDiagnostics &) = delete;
  ShortDiagnostics &operator=(const ShortDiagnostics &) = delete;
  ~ShortDiagnostics() { printRest(); }

  /// Says how many were left out since the last call.
  void printRest();

private:
  struct Kind {
    std::string example;
    int64_t seen = 0;
  };

  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);
  void print(mlir::Diagnostic &diagnostic);
  /// The line of the source that a diagnostic is about; empty when it is not of
  /// a file that is at hand.
  llvm::StringRef lineOf(mlir::Location location) const;

  llvm::SourceMgr &sources;
  std::map<std::string, Kind> kinds;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace cp

#endif // CP_TOOLS_CP_RUN_SHORTDIAGNOSTICS_H
