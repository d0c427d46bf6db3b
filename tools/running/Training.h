//===- Training.h - The loss of a run and its gradients ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TRAINING_H
#define CP_TOOLS_RUNNING_TRAINING_H

#include "RunFlags.h"
#include "cp/Execution/Program.h"
#include "cp/Files/Safetensors.h"

namespace cp {

/// Whether an argument is the labels that --loss adds.
bool isLabels(const TensorSpec &spec, const RunFlags &options);

/// The labels of --labels, or of `tensors`, the other arguments: the ids of
/// the tokens, each row one further, and -100 for the last. Errors: a file that
/// does not fit, no argument that is ids of the same shape.
llvm::Expected<HostTensor> gatherLabels(const TensorSpec &labels,
                                        llvm::ArrayRef<TensorSpec> specs,
                                        llvm::ArrayRef<HostTensor> tensors,
                                        const RunFlags &options);

/// The gradients among the results, each by the name of its parameter.
std::vector<TensorView> gradientsOf(llvm::ArrayRef<TensorSpec> specs,
                                    llvm::ArrayRef<HostTensor> results);

/// Whether a result is the gradient by a parameter.
bool isGradient(const TensorSpec &spec);

} // namespace cp

#endif // CP_TOOLS_RUNNING_TRAINING_H
