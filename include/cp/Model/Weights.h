//===- Weights.h - The parameters of a model --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_MODEL_WEIGHTS_H
#define CP_MODEL_WEIGHTS_H

#include "cp/Files/Safetensors.h"
#include "cp/Model/Draw.h"
#include "cp/Model/HybridConfig.h"
#include "cp/Model/Mamba2Config.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cp {

/// One parameter, under its Hugging Face name.
struct WeightSpec {
  std::string name;
  std::vector<int64_t> shape;
  InitSpec init;
};

/// Every parameter of the model in the order of its use, with the
/// initialisation of the semantics' library. A tied lm_head.weight is not one.
std::vector<WeightSpec> weightsOf(const Mamba2Config &config);
std::vector<WeightSpec> weightsOf(const HybridConfig &config);

/// The tensor of that name, which lives as long as `file`. The embedding is
/// also found under state-spaces' name, backbone.embedding.weight, and all that
/// starts with "backbone." or "model." without it, as a model without its head
/// is saved. Errors: no such tensor (the message lists the names most like it),
/// another shape, a type that convertElements() does not make `dtype` of.
llvm::Expected<TensorView> bindWeight(const TensorFile &file,
                                      llvm::StringRef name,
                                      llvm::ArrayRef<int64_t> shape,
                                      DType dtype);

/// The names of the tensors that bindWeight() takes for none of `names`,
/// ascending, and behind them those of strays() with what is wrong with them: a
/// file for another model, or one that holds more than the model computes with.
/// An lm_head.weight that is a tensor bound under another name, bit for bit, is
/// a copy that a tied model does not need, and so is a stray of another shard's
/// tensor; they are not among them.
std::vector<std::string> unboundNames(const TensorFile &file,
                                      llvm::ArrayRef<std::string> names);

/// The unbound names for a person, quoted, at most ten and then how many more;
/// where lm_head.weight is among them, why it is not just a tied copy. Empty
/// for none.
std::string describeUnbound(llvm::ArrayRef<std::string> unbound);

} // namespace cp

#endif // CP_MODEL_WEIGHTS_H
