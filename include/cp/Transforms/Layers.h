//===- Layers.h - Which layer an op belongs to ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_LAYERS_H
#define CP_TRANSFORMS_LAYERS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace cp {

/// Which layer of a model each op of a function belongs to, in the global and
/// in the local view. The layer of a parameter is the first number in its
/// `cp.param` (3 in "backbone.layers.3.norm.weight"), that of an op the largest
/// among what it reads. Of a backward pass, which begins at the head or with
/// cotangents, the layer is that of what is read of the forward pass, and never
/// a later one than that of the cotangents.
class Layers {
public:
  explicit Layers(mlir::FunctionOpInterface function);

  /// "3"; "embedding" before the first layer, "head" from where a parameter
  /// outside the layers is used behind them; "gradients" for an exchange of
  /// those of several layers. "-" in a function whose parameters name no layer.
  std::string of(mlir::Operation *op) const;

private:
  struct Origin {
    bool isParameter = true;
    /// Whether it is made of cotangents, which have come from the head.
    bool isBackward = false;
    /// Nothing, outside any layer, or a number; `head` is above all.
    int64_t layer = none;
  };
  static constexpr int64_t none = -2, outside = -1, gradients = INT64_MAX - 1,
                           head = INT64_MAX;

  Origin originOf(mlir::Operation *op) const;
  int64_t backwardLayerOf(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Origin> origins;
  llvm::DenseMap<mlir::Operation *, int64_t> layers;
  bool hasLayers = false;
};

} // namespace cp

#endif // CP_TRANSFORMS_LAYERS_H
