//===- SafetensorsHeader.cpp - The header of a safetensors file -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SafetensorsHeader.h"

#include "FileIO.h"
#include "JsonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <tuple>

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {

/// One tensor's entry, with its place in the data that follows the header.
struct Entry {
  TensorView view;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Reads one file; each message starts with the file's name.
class HeaderParser {
public:
  HeaderParser(StringRef file, StringRef label)
      : file(file), label(quotedPath(label)) {}

  Expected<SafetensorsHeader> parse();

private:
  Error fail(const Twine &message) const {
    return makeError(label + ": " + message);
  }
  Error fail(StringRef tensor, const Twine &message) const {
    return makeError(label + ": tensor " + quoted(tensor) + ": " + message);
  }
  Expected<StringRef> splitHeader();
  Error readMetadata(const json::Value &value);
  Error readEntry(StringRef name, const json::Value &value);
  Error readDType(Entry &entry, const json::Object &object) const;
  Error readShape(Entry &entry, const json::Array *shape) const;
  Error readOffsets(Entry &entry, const json::Array *offsets) const;
  Error checkBytes(const Entry &entry) const;
  Error checkCover() const;

  StringRef file;
  std::string label;
  /// What follows the header.
  StringRef data;
  std::vector<Entry> entries;
  llvm::StringMap<std::string> metadata;
};

} // namespace

Expected<StringRef> HeaderParser::splitHeader() {
  if (file.size() < 8)
    return fail("expected 8 bytes of header length, got a file of " +
                Twine(file.size()) + " bytes; it is truncated");
  uint64_t length = llvm::support::endian::read64le(file.data());
  uint64_t rest = file.size() - 8;
  if (length > rest)
    return fail("header length: expected at most the " + Twine(rest) +
                " bytes that follow, got " + Twine(length) +
                "; the file is truncated or no safetensors file");
  if (length > maxHeaderBytes)
    return fail("header length: expected at most " + Twine(maxHeaderBytes) +
                " bytes, got " + Twine(length));
  StringRef header = file.substr(8, length);
  data = file.substr(8 + length);
  if (!header.starts_with("{"))
    return fail("header: expected a JSON object that starts with '{', got " +
                quoted(header.take_front(8)));
  return header;
}

Error HeaderParser::readMetadata(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("__metadata__: expected an object of strings, got " +
                describe(value));
  for (const auto &[key, text] : *object) {
    std::optional<StringRef> string = text.getAsString();
    if (!string)
      return fail("__metadata__: expected strings only, got " + describe(text) +
                  " under " + quoted(key));
    metadata[StringRef(key)] = string->str();
  }
  return Error::success();
}

Error HeaderParser::readShape(Entry &entry, const json::Array *shape) const {
  StringRef name = entry.view.name;
  if (!shape)
    return fail(name, "shape: expected a list of sizes");
  for (const json::Value &value : *shape) {
    std::optional<uint64_t> size = value.getAsUINT64();
    if (!size || *size > uint64_t(INT64_MAX))
      return fail(name, "shape: expected whole sizes from 0 to 2^63-1, got " +
                            describe(value));
    entry.view.shape.push_back(int64_t(*size));
  }
  return Error::success();
}

Error HeaderParser::readOffsets(Entry &entry,
                                const json::Array *offsets) const {
  StringRef name = entry.view.name;
  if (!offsets || offsets->size() != 2)
    return fail(name, "data_offsets: expected a list [begin, end]");
  std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64();
  std::optional<uint64_t> end = (*offsets)[1].getAsUINT64();
  if (!begin || !end)
    return fail(name, "data_offsets: expected whole numbers from 0, got " +
                          describe((*offsets)[begin ? 1 : 0]));
  if (*begin > *end || *end > data.size())
    return fail(name, "data_offsets: expected 0 <= begin <= end <= " +
                          Twine(data.size()) + " (the data's bytes), got [" +
                          Twine(*begin) + ", " + Twine(*end) + "]" +
                          (*end > data.size()
                               ? "; if the file is cut off, copy it anew"
                               : ""));
  entry.begin = *begin;
  entry.end = *end;
  return Error::success();
}

Error HeaderParser::readDType(Entry &entry, const json::Object &object) const {
  std::optional<StringRef> text = object.getString("dtype");
  std::optional<DType> dtype = parseDType(text.value_or(""));
  if (!dtype)
    return fail(entry.view.name,
                "dtype: expected a type such as F32, F64 or BF16, got " +
                    (text ? quoted(*text) : "no string"));
  entry.view.dtype = *dtype;
  return Error::success();
}

/// That the bytes between the offsets are those of the shape.
Error HeaderParser::checkBytes(const Entry &entry) const {
  const TensorView &view = entry.view;
  std::string what = (dtypeName(view.dtype) + shapeText(view.shape)).str();
  std::optional<int64_t> bytes = tensorBytes(view.shape, view.dtype);
  if (!bytes)
    return fail(view.name, "shape: expected less than 2^63 bytes, got more "
                           "for " +
                               what);
  if (uint64_t(*bytes) != entry.end - entry.begin)
    return fail(view.name, "data_offsets: expected the " + Twine(*bytes) +
                               " bytes of " + what + ", got " +
                               Twine(entry.end - entry.begin));
  return Error::success();
}

Error HeaderParser::readEntry(StringRef name, const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail(name, "expected an object, got " + describe(value));
  for (const auto &[key, unused] : *object)
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return fail(name, "expected dtype, shape and data_offsets, got also " +
                            quoted(key));
  Entry entry;
  entry.view.name = name.str();
  if (Error error = readDType(entry, *object))
    return error;
  if (Error error = readShape(entry, object->getArray("shape")))
    return error;
  if (Error error = readOffsets(entry, object->getArray("data_offsets")))
    return error;
  if (Error error = checkBytes(entry))
    return error;
  entry.view.bytes =
      llvm::arrayRefFromStringRef(data.slice(entry.begin, entry.end));
  entries.push_back(std::move(entry));
  return Error::success();
}

/// The format wants every byte in exactly one tensor. `entries` is sorted.
Error HeaderParser::checkCover() const {
  uint64_t covered = 0;
  for (const Entry &entry : entries) {
    if (entry.begin < covered)
      return fail(entry.view.name, "data_offsets: expected to begin at " +
                                       Twine(covered) + ", got " +
                                       Twine(entry.begin) +
                                       "; it overlaps the tensor before it");
    if (entry.begin > covered)
      return fail(entry.view.name, "data_offsets: expected to begin at " +
                                       Twine(covered) + ", got " +
                                       Twine(entry.begin) +
                                       "; the bytes between are in no tensor");
    covered = entry.end;
  }
  if (covered != data.size())
    return fail("expected " + Twine(covered) + " bytes of data, got " +
                Twine(data.size()) + "; the last ones are in no tensor");
  return Error::success();
}

Expected<SafetensorsHeader> HeaderParser::parse() {
  Expected<StringRef> header = splitHeader();
  if (!header)
    return header.takeError();
  Expected<json::Value> value =
      parseJson(*header, label + ": header", NonFinite::Refuse);
  if (!value)
    return value.takeError();
  // Starts with '{', so valid JSON is an object.
  const json::Object &object = *value->getAsObject();
  for (const auto &[key, entry] : object) {
    StringRef name = key;
    if (Error error = name == "__metadata__" ? readMetadata(entry)
                                             : readEntry(name, entry))
      return error;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.view.name) <
           std::tie(b.begin, b.end, b.view.name);
  });
  if (Error error = checkCover())
    return error;
  SafetensorsHeader said;
  for (Entry &entry : entries)
    said.tensors.push_back(std::move(entry.view));
  said.metadata = std::move(metadata);
  return said;
}

Expected<SafetensorsHeader> cp::parseSafetensors(StringRef file,
                                                 StringRef label) {
  return HeaderParser(file, label).parse();
}
