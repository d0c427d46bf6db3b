//===- Bind.cpp - Weights from files --------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Model/Weights.h"

#include "FileIO.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// By its name, and the embedding also by its other one, which
/// Mamba2Model.load_hook of transformers renames the same way.
static const TensorView *findWeight(const TensorFile &file, StringRef name) {
  if (const TensorView *view = file.find(name))
    return view;
  if (name == "backbone.embeddings.weight")
    return file.find("backbone.embedding.weight");
  return nullptr;
}

static Error missing(const TensorFile &file, StringRef name) {
  std::vector<std::string> near = file.nearest(name, 3);
  for (std::string &other : near)
    other = quoted(other);
  std::string hint =
      near.empty() ? "no name in the file is like it"
                   : "the names most like it are " + llvm::join(near, ", ");
  return makeError(quoted(file.label()) + ": expected a tensor " +
                   quoted(name) + ", got none; " + hint);
}

Expected<TensorView> cp::bindWeight(const TensorFile &file, StringRef name,
                                    ArrayRef<int64_t> shape, DType dtype) {
  const TensorView *view = findWeight(file, name);
  if (!view)
    return missing(file, name);
  std::string start =
      quoted(file.label()) + ": tensor " + quoted(view->name) + ": ";
  if (ArrayRef<int64_t>(view->shape) != shape)
    return makeError(start + "expected shape " + shapeText(shape) + ", got " +
                     shapeText(view->shape) +
                     "; the file and the configuration are of two models");
  if (view->dtype != dtype)
    return makeError(start + "expected type " + dtypeName(dtype) + ", got " +
                     dtypeName(view->dtype) + "; convert the file to " +
                     dtypeName(dtype));
  return *view;
}

std::vector<std::string> cp::unboundNames(const TensorFile &file,
                                          ArrayRef<WeightSpec> weights) {
  llvm::StringSet<> bound;
  for (const WeightSpec &weight : weights)
    if (const TensorView *view = findWeight(file, weight.name))
      bound.insert(view->name);
  std::vector<std::string> names;
  for (const TensorView &view : file.tensors())
    if (!bound.contains(view.name))
      names.push_back(view.name);
  return names;
}
