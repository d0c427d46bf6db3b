//===- ModelBuilder.h - A model's function around its blocks ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_FRONTEND_MODELBUILDER_H
#define CP_LIB_FRONTEND_MODELBUILDER_H

#include "cp/Frontend/ImportOptions.h"
#include "cp/IR/CPDialect.h"
#include "cp/Model/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace cp {

/// Builds `main`: the arguments from the list of weights, the embedding, block
/// by block what importers say, and the logits.
class ModelBuilder {
public:
  /// Null after an error at `location`: a size below 1, a type that is not
  /// served. `model` must outlive the builder.
  static std::optional<ModelBuilder>
  create(const LanguageModel &model, const ImportOptions &options,
         mlir::Location location, const Multipliers &multipliers = {});

  /// Makes the function and gives the residual stream after the embedding.
  mlir::Value begin(llvm::ArrayRef<WeightSpec> weights,
                    llvm::StringRef embedding);

  /// hidden + residual * block(norm(hidden)), where `norm` names the norm's
  /// weight.
  mlir::Value addBlock(mlir::Value hidden, llvm::StringRef norm,
                       llvm::function_ref<mlir::Value(mlir::Value)> block);

  /// Logits with the weight `head`, after the norm of that name. Null when the
  /// module does not verify.
  mlir::OwningOpRef<mlir::ModuleOp>
  finish(mlir::Value hidden, llvm::StringRef norm, llvm::StringRef head);

  /// A Mamba-2 mixer; `name` is the module's.
  mlir::Value mixer(mlir::Value u, const std::string &name,
                    const MixerConfig &config);

  /// The parameter of that name; null for one that the model has not.
  mlir::Value weight(const llvm::Twine &name) const {
    return arguments.lookup(name.str());
  }

  /// `cu_seqlens`, or null where each row is one document.
  mlir::Value documents() const { return arguments.lookup(documentsName); }

  mlir::ImplicitLocOpBuilder &builder() { return b; }

private:
  static constexpr llvm::StringLiteral documentsName = "cu_seqlens";

  ModelBuilder(const LanguageModel &model, const ImportOptions &options,
               mlir::FloatType element, mlir::Location location,
               const Multipliers &multipliers);

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::RankedTensorType stateType() const;
  mlir::DictionaryAttr tokenAttributes();
  mlir::DictionaryAttr documentAttributes();
  bool residualIsWider();
  mlir::Value toResidual(mlir::Value x);
  mlir::Value toElement(mlir::Value x);
  mlir::Value lastToken(mlir::Value x);
  mlir::Value norm(mlir::Value x, mlir::Value scale);
  mlir::Value skip(mlir::Value value, const MixerConfig &config);

  const LanguageModel &model;
  ImportOptions options;
  mlir::FloatType element;
  Multipliers multipliers;
  mlir::ImplicitLocOpBuilder b;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> arguments;
};

} // namespace cp

#endif // CP_LIB_FRONTEND_MODELBUILDER_H
