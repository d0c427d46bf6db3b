//===- DataSource.h - The data of the command line --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_DATASOURCE_H
#define CP_TOOLS_RUNNING_DATASOURCE_H

#include "TrainFlags.h"
#include "TrainingData.h"
#include "cp/Execution/TensorSpec.h"

#include <memory>

namespace cp {

/// What a model trains on, and the arguments that take it beside `labels`.
struct DataSource {
  std::unique_ptr<TrainingData> data;
  std::string ids;
  /// Empty for a model whose rows are one document each.
  std::string documents;
};

/// Opens --data for a model that takes these arguments, labels among them:
/// tokens that run on, or rows. Errors: a model without ids; data that is not
/// its, or that has documents where the model has none, or the other way round.
llvm::Expected<DataSource> openData(llvm::ArrayRef<TensorSpec> arguments,
                                    const RunFlags &run,
                                    const TrainFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_DATASOURCE_H
