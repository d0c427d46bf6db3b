//===- Inputs.h - Weights and inputs from files or a seed -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_INPUTS_H
#define CP_TOOLS_RUNNING_INPUTS_H

#include "RunFlags.h"
#include "cp/Execution/RowBatch.h"

namespace cp {

/// Whether an argument says where the documents of each row end: by its
/// cp.init, or by the importers' name, `cu_seqlens`.
bool isDocuments(const TensorSpec &spec);

/// Whether any of these labels, of i32, is none of those below 0, which say
/// that there is nothing to be asked.
bool hasLabel(const HostTensor &labels);

/// Whether those that are asked are the ids of their tokens, which nobody has
/// shifted to what comes next: of i32 both, four at least, and not where one
/// token is repeated, so that what comes next is the same.
bool areTokens(const HostTensor &labels, const HostTensor &ids);
inline constexpr llvm::StringLiteral unshiftedText =
    "the labels are the ids of the tokens themselves; labels are what comes "
    "next, each row one further";

/// Whether there is one of this name.
bool hasName(llvm::ArrayRef<TensorSpec> specs, llvm::StringRef name);

/// What arguments are, one whole tensor for each.
struct Inputs {
  std::vector<HostTensor> tensors;
  /// Where they are from, with --rows.
  std::optional<RowBatch> rows;

  std::vector<const HostTensor *> pointers() const;
};

/// Takes a parameter over. The view lives until it returns; `release` lets go
/// of what has been read of it, as of Session::set.
using ParameterSink = llvm::function_ref<llvm::Error(
    const TensorSpec &spec, const TensorView &view,
    llvm::function_ref<void()> release)>;

/// One whole tensor for each argument: parameters from --weights, other
/// arguments from --inputs, what no file gives from --seed. What had to be
/// converted is one remark a file, on standard error. Errors name the
/// tensor and the file: one that is missing or of another shape or type, and,
/// unless --ignore-unused-weights only says it, one that no argument takes.
/// With --rows other arguments than parameters are from there. With a sink
/// parameters go there one by one, of a file as they lie in it (in another type
/// maybe, which converts), and their tensors are empty.
llvm::Expected<Inputs> gatherInputs(llvm::ArrayRef<TensorSpec> specs,
                                    const RunFlags &options,
                                    ParameterSink sink = nullptr);

/// The tensors of the arguments that are parameters, or of all results.
std::vector<TensorView> viewsOf(llvm::ArrayRef<TensorSpec> specs,
                                llvm::ArrayRef<HostTensor> tensors,
                                bool paramsOnly);

} // namespace cp

#endif // CP_TOOLS_RUNNING_INPUTS_H
