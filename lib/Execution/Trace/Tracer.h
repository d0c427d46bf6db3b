//===- Tracer.h - One program on ids ----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_TRACE_TRACER_H
#define CP_LIB_EXECUTION_TRACE_TRACER_H

#include "../LocalProgram.h"
#include "TraceWorld.h"
#include "cp/Execution/TraceTokens.h"
#include "cp/Transforms/Layers.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

#include <optional>
#include <unordered_map>

namespace cp {

/// What an op reads under which name, as findings say it.
struct NamedValue {
  std::string name;
  const TracedValue *value;
};

/// Follows the ops of one program. Each `trace...` gives the op's results their
/// values; nothing that it does fails on account of a finding.
class Tracer {
public:
  Tracer(LocalProgram &program, TraceWorld &world, TokenTrace &trace,
         int64_t maxBytes);

  llvm::Error run();

private:
  friend class ComputeTrace;
  friend class OpTrace;
  llvm::Error traceOp(mlir::Operation *op);
  llvm::Error traceArguments();
  void checkResults(mlir::Operation *terminator);
  llvm::Error checkMemory(mlir::Operation *op) const;
  void release(mlir::Operation *op);
  void setUnknown(mlir::Operation *op);
  void noteRepeats(mlir::Operation *op);

  LocalProgram &program;
  TraceWorld &world;
  TokenTrace &trace;
  int64_t maxBytes;
  Layers layers;
  Covers covers;
  /// By Value::getAsOpaquePointer(); values stay where they are while others
  /// come.
  std::unordered_map<const void *, TracedValue> values;
  TracedValue &of(mlir::Value value) {
    return values[value.getAsOpaquePointer()];
  }
};

/// For each rank the ranks with which it takes part in a collective, in order.
std::vector<std::vector<int64_t>> groupsOf(mlir::Operation *op);

/// The ids of a rank's part from what stands along each dimension; where
/// nothing does, elements have the index that they have here.
Plane idsFrom(const TracedValue &value, llvm::ArrayRef<Digits> digits);

struct ScanOperands;
struct Places;

/// One op being traced.
class OpTrace {
public:
  OpTrace(Tracer &tracer, mlir::Operation *op);

  /// Movement by the runtime: exchanges, slices, gathers, halos, repeats.
  llvm::Error move();
  /// Sums over ranks.
  llvm::Error reduce();
  /// Summaries over ranks.
  llvm::Error scanState();
  /// Changes of shape and cuts within a rank.
  void reshape(llvm::ArrayRef<mlir::ReassociationIndices> groups, bool expands);
  void extractSlice();
  void insertSlice();
  /// Whatever computes by a rule of dimensions alone.
  void compute();
  /// Ops along a sequence.
  void conv1d();
  void ssd();
  void ssdStates();
  void ssdScan();
  void attention();
  void positions();

  /// Any of these, or nothing: false where the op is none that is known.
  bool traceWithinRank();

  /// What is wrong on a rank; the first of an op is listed.
  void report(int64_t rank, const std::string &what);

private:
  friend class ComputeTrace;
  friend class Tracer;

  int64_t numRanks() const { return tracer.trace.ranks; }
  const TracedValue &operand(mlir::Value value) const;
  const TracedValue &operand(unsigned number) const {
    return operand(op->getOperand(number));
  }
  TracedValue &result(unsigned number);
  void setUnknown() { tracer.setUnknown(op); }
  bool anyUnknown() const;

  /// The rows (dimensions 0 and 1 as one) of a value on a rank: batch element
  /// times length plus token. Says where elements of a row differ.
  Digits rows(const NamedValue &named, int64_t rank);
  Digits along(const NamedValue &named, int64_t rank, size_t first,
               size_t last);
  /// How long the sequence is whose rows are dimensions 0 and 1.
  static int64_t lengthOf(const TracedValue &value);
  /// That rows ascend one by one within each of the `batch` elements.
  void checkInOrder(const std::string &name, int64_t rank, const Digits &rows,
                    int64_t batch, int64_t length);
  /// That two operands have the same rows.
  void checkSameRows(const NamedValue &first, const NamedValue &other,
                     int64_t rank, int64_t length);
  /// That elements along a dimension are those of another operand's.
  void checkSame(const NamedValue &first, size_t firstDim,
                 const NamedValue &other, size_t otherDim, int64_t rank);
  /// That element i of q's heads meets its group's in k's.
  void checkGroups(const NamedValue &heads, const NamedValue &groups,
                   size_t dim, int64_t rank);
  /// That no operand is a sum which is not complete.
  bool checkPlain(const NamedValue &named);
  /// The one cover of all elements of batch element `batch`; nothing, after a
  /// finding, when they differ.
  std::optional<int64_t> coverOf(const NamedValue &named, int64_t rank,
                                 int64_t batch);
  /// The one cover of all of a rank's elements; unknownId where they differ.
  int64_t coverOfAll(const NamedValue &named, int64_t rank);
  /// What the sum of the ranks' terms, each of such a cover, covers.
  int64_t coverOfSum(llvm::ArrayRef<int64_t> terms, int64_t rank);
  /// What a rank brings to a scan over ranks, per element of dimension 0.
  std::vector<int64_t> ownCovers(int64_t rank);
  /// What a prefix covers that has taken in the parts whose bits are set.
  int64_t coverOfBits(uint64_t bits, int64_t parts, int64_t batch,
                      llvm::ArrayRef<int64_t> group,
                      llvm::ArrayRef<std::vector<int64_t>> own, int64_t rank);
  /// The run that the rows of a batch element make, or unknownId.
  int64_t runOf(const Digits &rows, int64_t batch, int64_t count);
  int64_t withBefore(int64_t run, int64_t length);
  int64_t joinRuns(std::optional<int64_t> before, int64_t run);
  /// That the rows which a window op reads before its own are those.
  void checkWindow(const NamedValue &x, const TracedValue *initial,
                   int64_t before, int64_t rank, const Digits &own);
  /// That no operand is a sum; false, with unknown results, without ids.
  bool beginScan(const ScanOperands &operands);
  /// That operands fit x; gives its rows.
  Digits checkScan(const ScanOperands &operands, int64_t rank);
  /// That what the first half kept is of x's rows.
  void checkKept(const NamedValue &kept, int64_t rank, int64_t batch,
                 int64_t run, int64_t length);
  void setKept(unsigned number,
               llvm::ArrayRef<std::vector<int64_t>> coversByRank);
  /// That a state covers all rows of the sequence before `row`, and no other.
  void checkPrefix(const NamedValue &state, int64_t rank, int64_t batch,
                   int64_t row, int64_t length, bool mayBePlain);
  /// That a state is of x's batch elements, heads and channels and of B's
  /// states.
  void checkState(const NamedValue &x, const NamedValue &b,
                  const NamedValue &state, int64_t rank);
  /// That all rows of a sequence are there and, if that counts, in their
  /// places.
  void checkPlaces(const NamedValue &value, int64_t rank, const Places &places,
                   const std::vector<Cut> &cuts, bool inOrder);
  void setAttended(const NamedValue &q, const NamedValue &v);
  /// Gives a summary the ids of [b, heads, ...] and these covers by batch.
  void setSummary(unsigned number, llvm::ArrayRef<NamedValue> parts,
                  llvm::ArrayRef<size_t> dims,
                  llvm::ArrayRef<std::vector<int64_t>> coversByRank);
  void sameStructure(unsigned number, const TracedValue &source);

  Tracer &tracer;
  mlir::Operation *op;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_TRACE_TRACER_H
