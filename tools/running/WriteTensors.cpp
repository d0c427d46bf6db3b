//===- WriteTensors.cpp - What ranks have, as a file ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteTensors.h"

#include "Saving.h"

namespace cp {

/// The file with what is there already.
static llvm::Expected<SafetensorsWriter>
begin(const std::string &path, llvm::ArrayRef<const TensorSpec *> specs,
      const Beside &beside) {
  std::vector<TensorView> views = beside.tensors;
  for (const TensorSpec *spec : specs)
    views.push_back({spec->name, spec->dtype, spec->shape, {}});
  llvm::Expected<SafetensorsWriter> writer =
      SafetensorsWriter::create(targetOf(path), views, beside.metadata);
  if (!writer)
    return writer.takeError();
  for (const TensorView &view : beside.tensors)
    if (llvm::Error error = writer->write(view.name, 0, view.bytes))
      return error;
  return writer;
}

/// Hands a tensor over in pieces.
using StreamTensor = llvm::function_ref<llvm::Error(
    const TensorSpec &spec, std::optional<Session::PutBytes> put)>;

/// Goes on behind an error, since other processes wait for this one.
static llvm::Error writeTensors(const std::string &path,
                                llvm::ArrayRef<const TensorSpec *> specs,
                                const Beside &beside, const Session &session,
                                StreamTensor stream, bool writes) {
  std::optional<SafetensorsWriter> writer;
  llvm::Error error = llvm::Error::success();
  if (writes) {
    llvm::Expected<SafetensorsWriter> made = begin(path, specs, beside);
    if (made)
      writer.emplace(std::move(*made));
    else
      error = made.takeError();
  }
  for (const TensorSpec *spec : specs) {
    auto put = [&](int64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      return writer->write(spec->name, offset, bytes);
    };
    llvm::Error ofTensor = writer ? stream(*spec, Session::PutBytes(put))
                                  : stream(*spec, std::nullopt);
    if (!ofTensor)
      continue;
    writer.reset();
    error = llvm::joinErrors(std::move(error), std::move(ofTensor));
    // Nothing comes of the others then.
    if (llvm::Error failed = session.check()) {
      llvm::consumeError(std::move(failed));
      break;
    }
  }
  if (error || !writer)
    return error;
  return writer->commit();
}

llvm::Expected<std::vector<NotFiniteResult>>
writeArguments(const std::string &path, llvm::ArrayRef<TensorSpec> arguments,
               llvm::function_ref<bool(const TensorSpec &)> wanted,
               const Beside &beside, const Session &session, bool writes) {
  ResultTally tally;
  std::vector<const TensorSpec *> specs;
  for (const TensorSpec &spec : arguments)
    if (wanted(spec))
      specs.push_back(&spec);
  auto stream = [&](const TensorSpec &spec,
                    std::optional<Session::PutBytes> put) {
    auto count = [&](int64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      tally.add(spec, offset, bytes);
      return (*put)(offset, bytes);
    };
    llvm::Error error =
        session.stream(spec.name, put ? std::optional(Session::PutBytes(count))
                                      : std::nullopt);
    tally.end(spec);
    return error;
  };
  Beside all = beside;
  all.metadata.emplace_back("format", "pt");
  if (llvm::Error error =
          writeTensors(path, specs, all, session, stream, writes))
    return error;
  return tally.numbers().notFinite;
}

llvm::Expected<ResultNumbers> writeResults(const std::string &path,
                                           const Program &program,
                                           const Session &session,
                                           bool writes) {
  ResultTally tally;
  std::vector<const TensorSpec *> specs;
  for (const TensorSpec &spec : program.results())
    specs.push_back(&spec);
  auto stream = [&](const TensorSpec &spec,
                    std::optional<Session::PutBytes> put) {
    auto count = [&](int64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      tally.add(spec, offset, bytes);
      return put ? (*put)(offset, bytes) : llvm::Error::success();
    };
    llvm::Error error =
        writes ? session.streamResult(spec.name, Session::PutBytes(count))
               : session.streamResult(spec.name, std::nullopt);
    tally.end(spec);
    return error;
  };
  if (llvm::Error error = writeTensors(path, specs, {}, session, stream,
                                       writes && !path.empty()))
    return error;
  return tally.numbers();
}

} // namespace cp
