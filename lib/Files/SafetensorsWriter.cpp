//===- SafetensorsWriter.cpp - Writing safetensors files ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/Safetensors.h"

#include "FileIO.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace cp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

using Metadata = ArrayRef<std::pair<std::string, std::string>>;
using Ordered = std::vector<const TensorView *>;

/// The order in the file. The format's own writer uses the same.
static Ordered layOut(ArrayRef<TensorView> tensors) {
  Ordered ordered;
  for (const TensorView &tensor : tensors)
    ordered.push_back(&tensor);
  llvm::sort(ordered, [](const TensorView *a, const TensorView *b) {
    int64_t sizeA = dtypeBytes(a->dtype), sizeB = dtypeBytes(b->dtype);
    return sizeA != sizeB ? sizeA > sizeB : a->name < b->name;
  });
  return ordered;
}

static Error checkTensor(StringRef label, const TensorView &tensor) {
  std::string start = label.str() + ": tensor " + quoted(tensor.name) + ": ";
  if (tensor.name == "__metadata__" || !json::isUTF8(tensor.name))
    return makeError(start + "expected a name in UTF-8 other than "
                             "__metadata__, which the format reserves");
  std::optional<int64_t> bytes = tensorBytes(tensor.shape, tensor.dtype);
  if (!bytes)
    return makeError(start + "shape " + shapeText(tensor.shape) +
                     ": expected sizes from 0 and less than 2^63 bytes");
  return Error::success();
}

static uint64_t bytesOf(const TensorView &tensor) {
  return uint64_t(*tensorBytes(tensor.shape, tensor.dtype));
}

static Error checkNames(StringRef label, ArrayRef<TensorView> tensors) {
  std::vector<StringRef> names;
  for (const TensorView &tensor : tensors)
    names.push_back(tensor.name);
  llvm::sort(names);
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end())
    return Error::success();
  return makeError(Twine(label) + ": tensor " + quoted(*twice) +
                   ": expected each name once, got it twice");
}

static Error checkMetadata(StringRef label, Metadata metadata) {
  for (const auto &[key, text] : metadata)
    if (!json::isUTF8(key) || !json::isUTF8(text))
      return makeError(Twine(label) + ": metadata " + quoted(key) +
                       ": expected UTF-8");
  return Error::success();
}

/// The header, filled with spaces so that the data starts at a multiple of 8.
static std::string headerText(const Ordered &ordered, Metadata metadata) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.object([&] {
    if (!metadata.empty())
      out.attributeObject("__metadata__", [&] {
        for (const auto &[key, value] : metadata)
          out.attribute(key, value);
      });
    uint64_t offset = 0;
    for (const TensorView *tensor : ordered)
      out.attributeObject(tensor->name, [&] {
        out.attribute("dtype", dtypeName(tensor->dtype));
        out.attribute("shape", json::Array(tensor->shape));
        uint64_t end = offset + bytesOf(*tensor);
        out.attribute("data_offsets", json::Array{offset, end});
        offset = end;
      });
  });
  text.append(llvm::alignTo(text.size(), 8) - text.size(), ' ');
  return text;
}

Expected<SafetensorsWriter>
SafetensorsWriter::create(StringRef path, ArrayRef<TensorView> tensors,
                          Metadata metadata) {
  std::string label = quotedPath(path);
  for (const TensorView &tensor : tensors)
    if (Error error = checkTensor(label, tensor))
      return error;
  if (Error error = checkNames(label, tensors))
    return error;
  if (Error error = checkMetadata(label, metadata))
    return error;
  Ordered ordered = layOut(tensors);
  std::string header = headerText(ordered, metadata);
  SafetensorsWriter writer;
  uint64_t at = sizeof(uint64_t) + header.size();
  for (const TensorView *tensor : ordered) {
    writer.places[tensor->name] = {at, bytesOf(*tensor)};
    at += bytesOf(*tensor);
  }
  if (Error error = NewFile::create(path).moveInto(writer.file))
    return error;
  uint8_t size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, header.size());
  if (Error error = writer.file->write(0, size))
    return error;
  if (Error error =
          writer.file->write(sizeof size, llvm::arrayRefFromStringRef(header)))
    return error;
  // What nobody writes is zero.
  if (Error error = writer.file->resize(at))
    return error;
  return writer;
}

SafetensorsWriter::SafetensorsWriter() = default;
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter &&) = default;
SafetensorsWriter &SafetensorsWriter::operator=(SafetensorsWriter &&) = default;
SafetensorsWriter::~SafetensorsWriter() = default;

Error SafetensorsWriter::write(StringRef tensor, int64_t offset,
                               ArrayRef<uint8_t> bytes) {
  auto place = places.find(tensor);
  bool fits = place != places.end() && offset >= 0 &&
              uint64_t(offset) <= place->second.second &&
              bytes.size() <= place->second.second - uint64_t(offset);
  if (!fits)
    return makeError(file->label() + ": tensor " + quoted(tensor) +
                     " has no place for " + Twine(bytes.size()) +
                     " bytes from " + Twine(offset) + " on");
  return file->write(place->second.first + uint64_t(offset), bytes);
}

Error SafetensorsWriter::commit() { return file->keep(); }

Error cp::writeSafetensors(StringRef path, ArrayRef<TensorView> tensors,
                           Metadata metadata) {
  for (const TensorView &tensor : tensors)
    if (std::optional<int64_t> bytes = tensorBytes(tensor.shape, tensor.dtype);
        bytes && uint64_t(*bytes) != tensor.bytes.size())
      return makeError(quotedPath(path) + ": tensor " + quoted(tensor.name) +
                       ": expected the " + Twine(*bytes) + " bytes of " +
                       dtypeName(tensor.dtype) + shapeText(tensor.shape) +
                       ", got " + Twine(tensor.bytes.size()));
  Expected<SafetensorsWriter> writer =
      SafetensorsWriter::create(path, tensors, metadata);
  if (!writer)
    return writer.takeError();
  for (const TensorView &tensor : tensors)
    if (Error error = writer->write(tensor.name, 0, tensor.bytes))
      return error;
  return writer->commit();
}
