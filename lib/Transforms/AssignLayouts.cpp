//===- AssignLayouts.cpp - Choose where every tensor lives ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"
#include "RepeatGroups.h"
#include "cp/Transforms/Passes.h"

namespace cp {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function->hasAttr(viewAttr) || function.isExternal())
      return;
    if (failed(readOptions()) || failed(prepareScans(function)))
      return signalPassFailure();
    LayoutAssigner assigner(meshAttr, axisPosition, mixer == "hidden");
    if (failed(assigner.run(function)))
      return signalPassFailure();
    function->setAttr(viewAttr, StringAttr::get(&getContext(), "global"));
  }

private:
  LogicalResult readOptions() {
    auto refuse = [&](const Twine &message) {
      return emitError(getOperation()->getLoc(), message);
    };
    std::string message;
    std::optional<Mesh> value = parseMesh(mesh, message);
    if (!value)
      return refuse(message);
    axisPosition = value->findAxis(StringRef(axis));
    if (axisPosition < 0)
      return refuse("axis '" + axis + "' is not an axis of mesh '" + mesh +
                    "'");
    if (mixer != "hidden" && mixer != "sequence")
      return refuse("mixer must be hidden or sequence, but is '" + mixer + "'");
    algorithm = symbolizeScanAlgorithm(StringRef(scan));
    if (!algorithm)
      return refuse("scan must be chain, gather, doubling, pipelined or "
                    "transposed, but is '" +
                    scan + "'");
    meshAttr = MeshAttr::get(&getContext(), *value);
    return success();
  }

  /// Repeats shared groups where heads will be cut, and writes down how states
  /// travel where the sequence will be.
  LogicalResult prepareScans(FunctionOpInterface function) {
    int64_t parts = meshAttr.getSizes()[axisPosition];
    SmallVector<SequenceOpInterface> scans;
    function.walk([&](SequenceOpInterface op) {
      if (op.getSequenceKind() == SequenceKind::Scan)
        scans.push_back(op);
    });
    for (SequenceOpInterface op : scans) {
      if (!op.getScanAlgorithm())
        op.setScanAlgorithm(*algorithm);
      if (!wantsHidden(op, mixer == "hidden"))
        continue;
      OpBuilder builder(op);
      if (failed(op.prepareHiddenCut(builder, parts)))
        return failure();
    }
    SmallVector<RepeatOp> repeats;
    function.walk([&](RepeatOp op) { repeats.push_back(op); });
    for (RepeatOp repeat : repeats)
      hoistRepeat(repeat);
    return success();
  }

  MeshAttr meshAttr;
  int axisPosition = 0;
  std::optional<ScanAlgorithm> algorithm;
};

} // namespace
} // namespace cp
