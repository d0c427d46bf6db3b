//===- ShardingAdvice.cpp - What to do without a rule -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/ShardingAdvice.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace cp {

namespace {
struct Advice {
  llvm::StringLiteral op, text;
};
} // namespace

static constexpr Advice table[] = {
    {"arith.scaling_extf", "multiply by the scale in ops of their own"},
    {"arith.scaling_truncf", "divide by the scale in ops of their own"},
    {"cp.attention_block", "run cp-decompose first"},
    {"cp.mamba_mixer", "run cp-decompose first"},
    {"func.call", "inline the function first (--inline)"},
    {"linalg.pack", "shard the model before its layout in memory is chosen"},
    {"linalg.softmax", "write it as linalg.generic ops (a maximum, "
                       "exponentials, a sum, a quotient), or use cp.attention"},
    {"linalg.unpack", "shard the model before its layout in memory is chosen"},
    {"linalg.winograd_filter_transform", "shard the convolution itself"},
    {"linalg.winograd_input_transform", "shard the convolution itself"},
    {"linalg.winograd_output_transform", "shard the convolution itself"},
    {"tensor.cast", "give the program known sizes; then it goes by itself"},
    {"tensor.dim", "give the program known sizes; then it is a constant"},
    {"tensor.extract", "keep numbers of one element in tensors of one element "
                       "(tensor.extract_slice)"},
    {"tensor.from_elements", "keep numbers of one element in tensors, and put "
                             "these together by tensor.concat"},
    {"tensor.gather", "look rows up by cp.embedding"},
    {"tensor.generate", "use cp.positions, or a linalg.generic with "
                        "linalg.index"},
    {"tensor.insert", "insert a tensor of one element (tensor.insert_slice)"},
    {"tensor.parallel_insert_slice", "shard the program before its loops are "
                                     "made parallel"},
    {"tensor.rank", "write the rank as a constant"},
    {"tensor.reshape", "use tensor.expand_shape and tensor.collapse_shape"},
    {"tensor.scatter", "write it as a linalg.generic over the result"},
};

StringRef shardingAdvice(StringRef op) {
  const auto *found =
      llvm::find_if(table, [&](const Advice &row) { return row.op == op; });
  return found == std::end(table) ? StringRef() : StringRef(found->text);
}

std::string withoutRule(Operation *op) {
  StringRef advice = shardingAdvice(op->getName().getStringRef());
  if (advice.empty())
    return "implement ShardingRuleOpInterface for it";
  return advice.str();
}

} // namespace cp
