//===- WriteArguments.cpp - What ranks keep, as a file ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteArguments.h"

namespace cp {

/// The file with what is there already.
static llvm::Expected<SafetensorsWriter>
begin(const std::string &path, llvm::ArrayRef<const TensorSpec *> specs,
      llvm::ArrayRef<TensorView> others) {
  std::vector<TensorView> views = others.vec();
  for (const TensorSpec *spec : specs)
    views.push_back({spec->name, spec->dtype, spec->shape, {}});
  llvm::Expected<SafetensorsWriter> writer =
      SafetensorsWriter::create(path, views, {{"format", "pt"}});
  if (!writer)
    return writer.takeError();
  for (const TensorView &view : others)
    if (llvm::Error error = writer->write(view.name, 0, view.bytes))
      return error;
  return writer;
}

llvm::Error writeArguments(const std::string &path,
                           llvm::ArrayRef<TensorSpec> arguments,
                           llvm::function_ref<bool(const TensorSpec &)> wanted,
                           llvm::ArrayRef<TensorView> others,
                           const Session &session, bool writes) {
  std::vector<const TensorSpec *> specs;
  for (const TensorSpec &spec : arguments)
    if (wanted(spec))
      specs.push_back(&spec);
  std::optional<SafetensorsWriter> writer;
  llvm::Error error = llvm::Error::success();
  if (writes) {
    llvm::Expected<SafetensorsWriter> made = begin(path, specs, others);
    if (made)
      writer.emplace(std::move(*made));
    else
      error = made.takeError();
  }
  for (const TensorSpec *spec : specs) {
    auto put = [&](int64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      return writer->write(spec->name, offset, bytes);
    };
    llvm::Error ofTensor =
        writer ? session.stream(spec->name, Session::PutBytes(put))
               : session.stream(spec->name, std::nullopt);
    if (!ofTensor)
      continue;
    writer.reset();
    error = llvm::joinErrors(std::move(error), std::move(ofTensor));
  }
  if (error || !writer)
    return error;
  return writer->commit();
}

} // namespace cp
