//===- Mamba2Config.h - What defines a Mamba-2 model ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description for both published forms. The layer, for token states u:
//   z, x, B, C, dt = split(in_proj(norm(u)))
//   x, B, C        = split(silu(causal_conv1d(x, B, C)))
//   y              = ssd(x, clamp(softplus(dt + dt_bias), dtMin, dtMax),
//                        -exp(A_log), B, C) + D x
//   u             += out_proj(gated_norm(y, z))
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_MAMBA2CONFIG_H
#define CP_MODEL_MAMBA2CONFIG_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Whose implementation a model follows where they differ.
enum class Semantics {
  /// transformers from 5.23 on: the gated norm's MambaRMSNormGated works per
  /// group of d_inner / n_groups channels, gate first.
  Transformers,
  /// transformers up to 5.22: the same, but the norm runs over all of d_inner.
  /// With one group there is no difference.
  TransformersUngrouped,
  /// mamba_ssm 2.x: RMSNormGated per group; norm_before_gate chooses the order.
  MambaSSM
};

/// "transformers", "transformers-ungrouped", "mamba_ssm".
llvm::StringRef semanticsName(Semantics semantics);

/// The semantics that semanticsName() names so, or nothing.
std::optional<Semantics> parseSemantics(llvm::StringRef name);

/// A Mamba-2 language model. What parseMamba2Config() returns has been checked:
/// sizes are positive, numGroups divides numHeads, and no product of them that
/// the shapes of the weights or their bytes need overflows.
struct Mamba2Config {
  Semantics semantics = Semantics::Transformers;

  // Sizes.
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t headDim = 0;
  int64_t stateSize = 0;
  int64_t numGroups = 0;
  int64_t convKernel = 0;
  int64_t vocabSize = 0;
  /// Rows of the embedding and of the logits; at least vocabSize.
  int64_t paddedVocabSize = 0;
  /// The published chunk of the scan; it changes rounding only.
  int64_t chunkSize = 0;

  // Norms.
  /// Of the norm before each mixer and of the last one.
  double normEpsilon = 1e-5;
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
  /// The logits use the embedding; there is no lm_head.weight.
  bool tieEmbeddings = false;
  /// The residual stream is at least f32, whatever the weights' type.
  bool residualInF32 = true;
  /// D has one value per inner channel instead of one per head.
  bool dHasHeadDim = false;

  // Initialisation, for weights that no file gives.
  double dtInitMin = 0.001;
  double dtInitMax = 0.1;
  double dtInitFloor = 1e-4;
  /// Standard deviation: of the embedding, and in transformers of every
  /// projection but out_proj.
  double initializerRange = 0.02;
  /// out_proj starts smaller by 1/sqrt(numLayers).
  bool rescaleResidual = false;
  /// mamba_ssm: A is drawn from [aInitMin, aInitMax]; transformers: A = 1..H.
  double aInitMin = 1;
  double aInitMax = 16;
  /// The bound of the conv weights, instead of 1/sqrt(convKernel).
  std::optional<double> convInit;

  /// For people: each field that the semantics ignores, and each size that was
  /// absent and so took its default. One sentence each.
  std::vector<std::string> remarks;

  /// Channels of x and z: d_inner.
  int64_t innerSize() const { return numHeads * headDim; }
  /// Channels of the conv: x, B, C.
  int64_t convDim() const { return innerSize() + 2 * numGroups * stateSize; }
  /// Rows of in_proj, in the order z, x, B, C, dt.
  int64_t inProjSize() const { return innerSize() + convDim() + numHeads; }
};

} // namespace cp

#endif // CP_MODEL_MAMBA2CONFIG_H
