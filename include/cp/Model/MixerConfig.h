//===- MixerConfig.h - What defines a Mamba-2 mixer -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mixer, for normed token states u:
//   z, x, B, C, dt = split(in_proj(u))
//   x, B, C        = split(silu(causal_conv1d(x, B, C)))
//   y              = ssd(x, clamp(softplus(dt + dt_bias), dtMin, dtMax),
//                        -exp(A_log), B, C) + D x
//   result         = out_proj(gated_norm(y, z))
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_MIXERCONFIG_H
#define CP_MODEL_MIXERCONFIG_H

#include <cstdint>
#include <limits>
#include <optional>

namespace cp {

/// The Mamba-2 mixers of a model, which are alike.
struct MixerConfig {
  // Sizes.
  int64_t numHeads = 0;
  int64_t headDim = 0;
  int64_t stateSize = 0;
  int64_t numGroups = 0;
  int64_t convKernel = 0;
  /// The published chunk of the scan; it changes rounding only.
  int64_t chunkSize = 0;

  // The gated norm.
  double gatedNormEpsilon = 1e-5;
  /// Without it y * silu(z) goes to out_proj, and there is no
  /// mixer.norm.weight.
  bool hasGatedNorm = true;
  /// norm(y) * silu(z) instead of norm(y * silu(z)).
  bool normBeforeGate = false;
  /// Equal runs of inner channels that the gated norm treats apart.
  int64_t normGroups = 1;

  // Step sizes: the clamp after softplus. dtMax may be infinite.
  double dtMin = 0;
  double dtMax = std::numeric_limits<double>::infinity();

  /// Biases of in_proj and out_proj.
  bool useBias = false;
  bool useConvBias = true;
  /// D has one value per inner channel instead of one per head.
  bool dHasHeadDim = false;

  // Initialisation, for weights that no file gives.
  double dtInitMin = 0.001;
  double dtInitMax = 0.1;
  double dtInitFloor = 1e-4;
  /// mamba_ssm: A is drawn from [aInitMin, aInitMax]; transformers: A = 1..H.
  double aInitMin = 1;
  double aInitMax = 16;
  /// The bound of the conv weights, instead of 1/sqrt(convKernel).
  std::optional<double> convInit;

  /// Channels of x and z: d_inner.
  int64_t innerSize() const { return numHeads * headDim; }
  /// Channels of the conv: x, B, C.
  int64_t convDim() const { return innerSize() + 2 * numGroups * stateSize; }
  /// Rows of in_proj, in the order z, x, B, C, dt.
  int64_t inProjSize() const { return innerSize() + convDim() + numHeads; }
};

} // namespace cp

#endif // CP_MODEL_MIXERCONFIG_H
