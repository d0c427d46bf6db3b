//===- Bind.cpp - Weights from files --------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Model/Weights.h"

#include "Files/FileIO.h"

#include "cp/Files/Convert.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace cp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Names that libraries write for one parameter: the embedding's other one,
/// which Mamba2Model.load_hook of transformers renames the same way, and those
/// of a model that was saved without its head.
static const TensorView *findWeight(const TensorFile &file, StringRef name) {
  if (const TensorView *view = file.find(name))
    return view;
  if (name == "backbone.embeddings.weight")
    if (const TensorView *view = file.find("backbone.embedding.weight"))
      return view;
  for (StringRef prefix : {"backbone.", "model."})
    if (name.starts_with(prefix))
      return file.find(name.drop_front(prefix.size()));
  return nullptr;
}

static Error missing(const TensorFile &file, StringRef name) {
  std::vector<std::string> near = file.nearest(name, 3);
  for (std::string &other : near)
    other = quoted(other);
  std::string hint =
      near.empty() ? "no name in the file is like it"
                   : "the names most like it are " + llvm::join(near, ", ");
  return makeError(quotedPath(file.label()) + ": expected a tensor " +
                   quoted(name) + ", got none; " + hint);
}

Expected<TensorView> cp::bindWeight(const TensorFile &file, StringRef name,
                                    ArrayRef<int64_t> shape, DType dtype) {
  const TensorView *view = findWeight(file, name);
  if (!view)
    return missing(file, name);
  std::string start =
      quotedPath(file.label()) + ": tensor " + quoted(view->name) + ": ";
  if (ArrayRef<int64_t>(view->shape) != shape)
    return makeError(start + "expected shape " + shapeText(shape) + ", got " +
                     shapeText(view->shape) +
                     "; the file and the configuration are of two models");
  if (!isConvertible(view->dtype, dtype))
    return makeError(start + "expected type " + dtypeName(dtype) +
                     " or one that converts to it, got " +
                     dtypeName(view->dtype));
  return *view;
}

static constexpr StringRef headName = "lm_head.weight";

static bool isCopy(const TensorView &a, const TensorView &b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

std::vector<std::string> cp::unboundNames(const TensorFile &file,
                                          ArrayRef<std::string> names) {
  llvm::StringMap<const TensorView *> bound;
  for (const std::string &name : names)
    if (const TensorView *view = findWeight(file, name))
      bound[view->name] = view;
  auto isTiedHead = [&](const TensorView &view) {
    return view.name == headName && llvm::any_of(bound, [&](const auto &entry) {
             return isCopy(view, *entry.second);
           });
  };
  std::vector<std::string> unbound;
  for (const TensorView &view : file.tensors())
    if (!bound.contains(view.name) && !isTiedHead(view))
      unbound.push_back(view.name);
  for (const TensorView &stray : file.strays()) {
    const TensorView *mapped = file.find(stray.name);
    if (!mapped)
      unbound.push_back(stray.name + " (of no shard in the index)");
    else if (!isCopy(stray, *mapped))
      unbound.push_back(stray.name + " (in another shard than the index says)");
  }
  return unbound;
}

std::string cp::describeUnbound(ArrayRef<std::string> unbound) {
  constexpr size_t most = 10;
  std::vector<std::string> shown;
  for (const std::string &name : unbound.take_front(most))
    shown.push_back(quoted(name));
  std::string text = llvm::join(shown, ", ");
  if (unbound.size() > most)
    text += " and " + std::to_string(unbound.size() - most) + " more";
  if (llvm::is_contained(unbound, headName))
    text += "; lm_head.weight is not the embedding, as which this model uses "
            "it (tie_word_embeddings)";
  return text;
}
