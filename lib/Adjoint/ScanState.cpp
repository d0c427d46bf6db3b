//===- ScanState.cpp - The adjoint of a scan over ranks -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With summaries (d_t, s_t), prefixes (D_t, S_t) and G_t the cotangent of S_t,
// the scan in the other direction over (d_t, G_t) gives what all that is behind
// t wants of the state: B_t, and the decay E_t over all that is behind. With
// the cotangent T of the total, which stands behind all:
//
//     ds_t = B_t + E_t T    dd_t = <S_t, ds_t>
//
// A prefix decay is the state that begins as 1 and takes nothing in: its
// cotangent H_t goes the same way, over (d_t, H_t), and D_t is what it meets.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace cp {
namespace {

class ScanBack {
public:
  ScanBack(AdjointContext &context, ScanStateOp op)
      : context(context), op(op), builder(context.getBuilder()),
        loc(context.getLoc()), decay(op.getSummary()[0]) {}

  void run() {
    Value ofState = goBack(1), ofDecay = goBack(0);
    if (ofState)
      context.add(1, ofState);
    if (!context.isWanted(0))
      return;
    // Both are of the decay: a state with no more dimensions is multiplied.
    if (ofState)
      context.add(0, inner(op.getPrefix()[1], ofState));
    if (ofDecay)
      context.add(0, inner(op.getPrefix()[0], ofDecay));
  }

private:
  /// What all that is behind a rank wants of the state, or of the decay, that
  /// it leaves. Null for nothing.
  Value goBack(unsigned number) {
    Value prefix = context.cotangent(number);
    Value total =
        op.getTotal().empty() ? Value() : context.cotangent(2 + number);
    if (!prefix && !total)
      return nullptr;
    if (!prefix)
      prefix = zerosOf(builder, loc, op.getSummary()[number].getType());
    auto scan = ScanStateOp::create(
        builder, loc, ValueRange{decay, prefix}, /*hasTotal=*/false,
        op.getMesh(), op.getCuts(), op.getAlgorithm(),
        /*reverse=*/!op.getReverse(), CombineAttr());
    Value behind = scan.getPrefix()[1];
    if (!total)
      return behind;
    Value decayed = scaled(builder, loc, ofEachPart(sumOfTerms(total)),
                           scan.getPrefix()[0]);
    return arith::AddFOp::create(builder, loc, behind, decayed);
  }

  /// Each rank has the total, and a term of its cotangent.
  Value sumOfTerms(Value total) {
    return AllReduceOp::create(builder, loc, total, op.getMesh(), op.getAxes())
        .getResult(0);
  }

  /// Of a sequence in several parts a rank, once for each.
  Value ofEachPart(Value total) {
    int64_t parts = *partsPerRank(op.toCuts());
    if (parts == 1)
      return total;
    auto type = cast<RankedTensorType>(total.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= parts;
    return RepeatOp::create(builder, loc, type.clone(shape), total,
                            /*dim=*/0, /*unit=*/1, /*times=*/parts);
  }

  /// The products' sum over what a state has more dimensions than a decay.
  Value inner(Value a, Value b) {
    return innerProduct(builder, loc, a, b,
                        cast<RankedTensorType>(decay.getType()).getRank());
  }

  AdjointContext &context;
  ScanStateOp op;
  OpBuilder &builder;
  Location loc;
  Value decay;
};

} // namespace

LogicalResult adjointOfScanState(AdjointContext &context, ScanStateOp op) {
  if (op.getCombine())
    return op.emitOpError("differentiate_c3: combines summaries by ")
           << op.getCombineAttr()
           << ", whose derivative is not known; keep gradients from it by "
              "cp.stop_gradient, or differentiate before the program is "
              "sharded";
  ScanBack(context, op).run();
  return success();
}

} // namespace cp
