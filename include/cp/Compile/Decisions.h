//===- Decisions.h - What the compiler decided ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_COMPILE_DECISIONS_H
#define CP_COMPILE_DECISIONS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cp {

/// One remark of a pass: its category ("collective", "reshard", "cut",
/// "memory"), its name, and its metrics by name, such as "bytes".
struct Decision {
  std::string category, name, function;
  std::map<std::string, std::string> facts;

  /// A fact's text, empty where there is none.
  std::string text(const std::string &key) const;
  /// A fact that is a number; 0 where there is none.
  int64_t number(const std::string &key) const;
  /// What each of `ranks` ranks sends: "bytes_by_rank", or "bytes" for all.
  std::vector<int64_t> bytesByRank(int64_t ranks) const;
};

/// Collects the remarks that passes make in a context as long as it lives. It
/// must not outlive the context.
class DecisionRecorder {
public:
  /// Errors: the context has a remark engine already.
  static llvm::Expected<std::unique_ptr<DecisionRecorder>>
  attach(mlir::MLIRContext &context);
  ~DecisionRecorder();

  /// What was decided so far: function by function, in the order in which it
  /// was said. Not while passes run.
  std::vector<Decision> decisions() const;

private:
  class Streamer;
  explicit DecisionRecorder(mlir::MLIRContext &context) : context(context) {}
  mlir::MLIRContext &context;
  Streamer *streamer = nullptr;
};

/// What was decided so far in the context of `place` is not what will be done:
/// recorders begin anew.
void forgetDecisions(mlir::Location place);

/// Collectives that are alike but for their place: how often, and what each
/// rank sends in all of them together.
struct ExplainedMove {
  std::string op, from, to, why;
  int64_t calls = 0;
  std::vector<int64_t> bytesByRank;
};
bool operator==(const ExplainedMove &a, const ExplainedMove &b);

/// A cut that an op could not have.
struct ExplainedRefusal {
  std::string op, layout, why, instead;
  int64_t calls = 0;
};
bool operator==(const ExplainedRefusal &a, const ExplainedRefusal &b);

/// What was decided for one layer, or for several that are alike.
struct ExplainedLayers {
  /// "embedding", "0", "1", "head" or "-", in the model's order.
  std::vector<std::string> layers;
  std::vector<ExplainedMove> moves;
  std::vector<ExplainedRefusal> refusals;
};

/// The decisions of categories "collective" and "cut" layer by layer; layers
/// with equal rows are one entry, at the place of the first. `ranks` is the
/// size of the mesh.
std::vector<ExplainedLayers> explainLayers(llvm::ArrayRef<Decision> decisions,
                                           int64_t ranks);

} // namespace cp

#endif // CP_COMPILE_DECISIONS_H
