//===- Decompose.cpp - Open composite ops -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentPlaces.h"
#include "Heads.h"
#include "OpenAttentionBlock.h"
#include "ProveMask.h"
#include "cp/IR/Projection.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {
#define GEN_PASS_DEF_DECOMPOSE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Builds the ops of one mixer.
class MixerBuilder {
public:
  explicit MixerBuilder(MambaMixerOp mixer)
      : mixer(mixer), b(mixer.getLoc(), mixer),
        element(mixer.getU().getType().getElementType()),
        sections(mixer.getSectionSizes()) {}

  Value build() {
    // All contractions first, so that exchanges behind them can be merged.
    Value z = project(0), x = project(1), bState = project(2),
          cState = project(3), dt = project(4);
    if (mixer.getDocuments())
      places = createPlaces(b, mixer.getU(), mixer.getDocuments());
    int64_t inner = mixer.getInnerSize(), shared = sections[2];
    x = convolve(x, 0, inner);
    bState = convolve(bState, inner, shared);
    cState = convolve(cState, inner + shared, shared);
    Value y = scan(x, dt, bState, cState);
    return createLinear(b, gatedNorm(y, z), mixer.getOutProj(),
                        mixer.getOutProjBias(), Parallel::Rows);
  }

private:
  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }

  /// Rows [offset, offset + size) of a weight or bias.
  Value rows(Value weight, int64_t offset, int64_t size) {
    auto type = cast<RankedTensorType>(weight.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes;
    for (int64_t dim : type.getShape())
      sizes.push_back(b.getIndexAttr(dim));
    offsets[0] = b.getIndexAttr(offset);
    sizes[0] = b.getIndexAttr(size);
    return tensor::ExtractSliceOp::create(b, weight, offsets, sizes, strides);
  }

  /// One section of in_proj.
  Value project(size_t section) {
    int64_t offset = 0;
    for (size_t i = 0; i < section; ++i)
      offset += sections[i];
    Value bias = mixer.getInProjBias();
    if (bias)
      bias = rows(bias, offset, sections[section]);
    return createLinear(b, mixer.getU(),
                        rows(mixer.getInProj(), offset, sections[section]),
                        bias, Parallel::Columns);
  }

  Value convolve(Value x, int64_t offset, int64_t size) {
    Value weight = rows(mixer.getConvWeight(), offset, size);
    Value bias;
    if (mixer.getConvBias())
      bias = rows(mixer.getConvBias(), offset, size);
    return Conv1dOp::create(b, x.getType(), x, weight, bias,
                            /*initial=*/Value(), places,
                            /*silu=*/b.getBoolAttr(true),
                            mixer.getStrategyAttr());
  }

  Value scan(Value x, Value dt, Value bState, Value cState) {
    int64_t heads = mixer.getNumHeads(), headDim = mixer.getHeadDim();
    int64_t groups = mixer.getNumGroups(), states = mixer.getStateSize();
    Value heads4 = splitHeads(b, x, heads, headDim);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(heads4.getType()).getShape();
    Value outOf = splitHeads(b, cState, groups, states);
    Value into = splitHeads(b, bState, groups, states);
    auto ssd = SsdOp::create(
        b, heads4.getType(), tensor({shape[0], heads, headDim, states}), heads4,
        dt, mixer.getALog(), into, outOf, mixer.getD(), mixer.getDtBias(),
        /*initial=*/Value(), places, mixer.getChunkSizeAttr(),
        mixer.getDtMinAttr(), mixer.getDtMaxAttr(), mixer.getStrategyAttr(),
        ScanAlgorithmAttr());
    return mergeHeads(b, ssd.getY());
  }

  Value gatedNorm(Value y, Value z) {
    if (mixer.getNormWeight())
      return RmsNormOp::create(b, y.getType(), y, mixer.getNormWeight(), z,
                               mixer.getEpsAttr(), mixer.getNormGroupsAttr(),
                               mixer.getGateFirstAttr());
    // y * silu(z), with silu(z) = z / (1 + exp(-z)). An exponent is no
    // infinity: the derivative would be 0 times that.
    auto type = cast<RankedTensorType>(z.getType());
    auto all = [&](double value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, b.getFloatAttr(element, value)));
    };
    Value one = all(1), most = all(element.isF64() ? 700 : 80);
    Value exp = math::ExpOp::create(
        b, arith::MinimumFOp::create(b, arith::NegFOp::create(b, z), most));
    Value gate =
        arith::DivFOp::create(b, z, arith::AddFOp::create(b, exp, one));
    return arith::MulFOp::create(b, y, gate);
  }

  MambaMixerOp mixer;
  ImplicitLocOpBuilder b;
  Type element;
  SmallVector<int64_t, 5> sections;
  /// Of tokens in their documents, or null.
  Value places;
};

struct Decompose : impl::DecomposeBase<Decompose> {
  void runOnOperation() override {
    SmallVector<Operation *> composites;
    SmallVector<AttentionOp> masked;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionBlockOp, MambaMixerOp>(op))
        composites.push_back(op);
      else if (auto attention = dyn_cast<AttentionOp>(op);
               attention && attention.getMask())
        masked.push_back(attention);
    });
    if (composites.empty() && masked.empty())
      markAllAnalysesPreserved();
    for (AttentionOp attention : masked)
      if (failed(proveMask(attention)))
        return signalPassFailure();
    for (Operation *op : composites) {
      if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
            return cast<ShapedType>(type).hasStaticShape();
          })) {
        op->emitOpError("has a shape that is not static; give the importer a "
                        "batch and a sequence length, and weights all sizes");
        return signalPassFailure();
      }
      op->replaceAllUsesWith(ValueRange{open(op)});
      op->erase();
    }
  }

private:
  static Value open(Operation *op) {
    if (auto block = dyn_cast<AttentionBlockOp>(op))
      return openAttentionBlock(block);
    return MixerBuilder(cast<MambaMixerOp>(op)).build();
  }
};

} // namespace
} // namespace cp
