//===- TensorSpec.h - What a program takes and gives ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_TENSORSPEC_H
#define CP_EXECUTION_TENSORSPEC_H

#include "cp/Files/DType.h"
#include "cp/Layout/Layout.h"
#include "cp/Model/Draw.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// What an op inside a program computes, as a result of the program
/// (cp-expose-values).
struct ExposedValue {
  /// Of the op among those of the module, and of its result.
  int64_t number = -1, result = -1;
  std::string op, layer, location;
  /// Along which dimension sharding has repeated it, how many elements at a
  /// time, and how often; empty for one that is not.
  std::vector<int64_t> repeated;
  /// Of sequences that ranks do not divide: how many rows the program has, and
  /// how many there are, of each length.
  std::vector<int64_t> padded;
};

/// One argument or result of an entry function, as the caller sees it.
struct TensorSpec {
  /// The tensor's `cp.name` or `cp.param`; "argN" or "resultN" without.
  std::string name;
  bool isParam = false;
  /// `cp.init`: how it is drawn where no file gives it, if that is said.
  std::optional<InitSpec> init;
  /// `cp.value`: of which op inside this result is the value, if it is one.
  std::optional<ExposedValue> value;
  /// `cp.residual`: each rank's own, which is no part of anything.
  bool isResidual = false;
  /// `cp.state`: what an optimizer keeps of a parameter.
  bool isState = false;
  /// `cp.accumulates`: a sum over micro-batches, which the first one starts
  /// anew.
  bool isAccumulator = false;
  /// `cp.updates`: the argument of which this result is the new value, and in
  /// whose buffer it is; empty for other results.
  std::string updates;
  DType dtype = DType::F32;
  /// The shape of the whole tensor. Where the layout's cuts do not divide it,
  /// parts have rows of padding (paddedSize).
  std::vector<int64_t> shape;
  Layout layout;
};

/// Whether nothing cuts it: every rank has all of it.
inline bool isWhole(const TensorSpec &spec) {
  for (const auto &cuts : spec.layout.dims)
    if (!cuts.empty())
      return false;
  return true;
}

} // namespace cp

#endif // CP_EXECUTION_TENSORSPEC_H
