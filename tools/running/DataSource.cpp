//===- DataSource.cpp - The data of the command line ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataSource.h"

#include "Inputs.h"
#include "RowData.h"
#include "TokenData.h"
#include "llvm/ADT/STLExtras.h"

namespace cp {

/// The model and the data must both have documents, or none.
static llvm::Error checkDocumentEnd(const std::string &documents, bool hasRows,
                                    bool hasEnd) {
  if (hasRows && hasEnd)
    return llvm::createStringError(
        "--document-end is for tokens that run on; rows say by seq_lens "
        "where their documents end");
  if (!documents.empty() && !hasRows && !hasEnd)
    return llvm::createStringError(
        "a row of the model holds several documents (" + documents +
        "); say by --document-end behind which token one ends");
  if (documents.empty() && hasEnd)
    return llvm::createStringError(
        "--document-end is for a model whose rows hold several documents; "
        "make the program with --documents=N, the most of a row");
  return llvm::Error::success();
}

llvm::Expected<DataSource> openData(llvm::ArrayRef<TensorSpec> specs,
                                    const RunFlags &run,
                                    const TrainFlags &flags) {
  const auto *labels = llvm::find_if(specs, [](const TensorSpec &spec) {
    return !spec.isParam && spec.name == "labels";
  });
  const auto *ids = llvm::find_if(specs, [&](const TensorSpec &spec) {
    return !spec.isParam && &spec != labels && spec.dtype == DType::I32 &&
           spec.shape == labels->shape;
  });
  if (ids == specs.end())
    return llvm::createStringError(
        "the model takes no i32 ids of the labels' shape; import it by "
        "cp-translate");
  DataSource source;
  source.ids = ids->name;
  DataShape shape;
  shape.batch = ids->shape[0];
  shape.length = ids->shape[1];
  bool isKnown = ids->init && ids->init->kind == InitSpec::Kind::Ids;
  shape.vocabulary = isKnown ? ids->init->count : 0;
  if (flags.shuffle)
    shape.seed = run.seed;
  const auto *lists = llvm::find_if(specs, isDocuments);
  if (lists != specs.end()) {
    source.documents = lists->name;
    shape.documents = lists->shape.back() - 1;
  }
  llvm::StringRef path = flags.data;
  bool hasRows = path.ends_with_insensitive(".safetensors");
  if (llvm::Error error = checkDocumentEnd(source.documents, hasRows,
                                           flags.documentEnd.has_value()))
    return error;
  llvm::Error error =
      hasRows
          ? RowData::read(flags.data, shape).moveInto(source.data)
          : TokenData::read(flags.data, shape, flags.documentEnd.value_or(0))
                .moveInto(source.data);
  if (error)
    return error;
  return source;
}

} // namespace cp
