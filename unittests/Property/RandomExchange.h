//===- RandomExchange.h - Collectives drawn at random -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_PROPERTY_RANDOMEXCHANGE_H
#define CP_UNITTESTS_PROPERTY_RANDOMEXCHANGE_H

#include "RandomModel.h"

#include <string>
#include <vector>

namespace cp::test {

/// A linear map as a program: its results are linear in the arguments `linear`,
/// in f64.
struct RandomMap {
  /// The op of it, for what was drawn.
  std::string name;
  std::string text;
  /// Names of arguments.
  std::vector<std::string> linear;
};

/// One collective, of tensors that are different on every rank: as a program of
/// one rank whose arguments and results are the ranks' tensors, stacked.
RandomMap drawCollective(Dice &dice);

/// The cuts of `grad_scale` and of its pair: a gather of parts to what all
/// ranks hold whole, or a slice of that. `factor` is by what its adjoint is
/// scaled.
RandomMap drawHandScaled(Dice &dice, double &factor);

/// Reshards between three drawn layouts, as a program of whole tensors: what
/// goes in comes out. The second may be a sum over ranks.
RandomMap drawReshards(Dice &dice);

/// The same over a second mesh on the same ranks: there and back again.
RandomMap drawBridge(Dice &dice);

} // namespace cp::test

#endif // CP_UNITTESTS_PROPERTY_RANDOMEXCHANGE_H
