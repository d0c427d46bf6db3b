//===- Npy.cpp - Arrays stored as .npy files ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/Npy.h"

#include "FileIO.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace cp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef magic = "\x93NUMPY";

static constexpr std::pair<DType, StringRef> descrs[] = {{DType::F32, "<f4"},
                                                         {DType::F64, "<f8"},
                                                         {DType::I32, "<i4"},
                                                         {DType::I64, "<i8"}};

namespace {

/// Reads the header's Python dictionary: string keys, and as values a string, a
/// Boolean or a tuple of whole numbers. Consumes `rest` from the left.
class DictParser {
public:
  explicit DictParser(StringRef text) : rest(text) {}

  /// Fills the fields below; false when the text is no such dictionary with
  /// exactly the three keys of the format.
  bool parse();

  StringRef descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  bool eat(StringRef token);
  bool string(StringRef &out);
  bool boolean(bool &out);
  bool tuple(std::vector<int64_t> &out);
  bool value(StringRef key);

  StringRef rest;
};

} // namespace

bool DictParser::eat(StringRef token) {
  rest = rest.ltrim(" \t\r\n");
  return rest.consume_front(token);
}

bool DictParser::string(StringRef &out) {
  if (!eat("'"))
    return false;
  size_t end = rest.find('\'');
  if (end == StringRef::npos || rest.take_front(end).contains('\\'))
    return false;
  out = rest.take_front(end);
  rest = rest.drop_front(end + 1);
  return true;
}

bool DictParser::boolean(bool &out) {
  out = eat("True");
  return out || eat("False");
}

bool DictParser::tuple(std::vector<int64_t> &out) {
  if (!eat("("))
    return false;
  while (!eat(")")) {
    rest = rest.ltrim(" ");
    int64_t size;
    // (3) is a number in Python and no tuple: the first comma is a must.
    if (rest.consumeInteger(10, size) || size < 0)
      return false;
    out.push_back(size);
    if (!eat(","))
      return out.size() > 1 && eat(")");
  }
  return true;
}

bool DictParser::value(StringRef key) {
  if (key == "descr")
    return string(descr);
  if (key == "fortran_order")
    return boolean(fortranOrder);
  return key == "shape" && tuple(shape);
}

bool DictParser::parse() {
  llvm::SmallVector<StringRef, 3> seen;
  if (!eat("{"))
    return false;
  while (!eat("}")) {
    StringRef key;
    if (!string(key) || llvm::is_contained(seen, key) || !eat(":") ||
        !value(key))
      return false;
    seen.push_back(key);
    if (eat(","))
      continue;
    if (!eat("}"))
      return false;
    break;
  }
  return seen.size() == 3 && rest.trim(" \t\r\n").empty();
}

/// Splits the dictionary's text off `file`, which keeps the data.
static Expected<StringRef> splitHeader(StringRef &file,
                                       const std::string &label) {
  if (!file.starts_with(magic) || file.size() < 10)
    return makeError(label +
                     ": expected a .npy file, which starts with "
                     "\\x93NUMPY, a version and a header length, got " +
                     quoted(file.take_front(8)) + " in " + Twine(file.size()) +
                     " bytes");
  int major = uint8_t(file[6]), minor = uint8_t(file[7]);
  if ((major != 1 && major != 2) || minor != 0)
    return makeError(label + ": expected .npy version 1.0 or 2.0, got " +
                     Twine(major) + "." + Twine(minor));
  size_t start = major == 1 ? 10 : 12;
  if (file.size() < start)
    return makeError(label + ": expected a header length of 4 bytes; the file "
                             "is truncated");
  const char *length = file.data() + 8;
  uint64_t size = major == 1 ? llvm::support::endian::read16le(length)
                             : llvm::support::endian::read32le(length);
  if (size > file.size() - start)
    return makeError(label + ": header length: expected at most the " +
                     Twine(file.size() - start) + " bytes that follow, got " +
                     Twine(size) + "; the file is truncated");
  StringRef header = file.substr(start, size);
  file = file.drop_front(start + size);
  return header;
}

static Expected<NpyArray> checkHeader(const DictParser &dict,
                                      const std::string &label) {
  const auto *row = llvm::find_if(
      descrs, [&](const auto &entry) { return entry.second == dict.descr; });
  if (row == std::end(descrs))
    return makeError(label + ": descr: expected <f4, <f8, <i4 or <i8, got " +
                     quoted(dict.descr) + "; convert it with astype");
  if (dict.fortranOrder)
    return makeError(label + ": fortran_order: expected False, got True; "
                             "convert it with numpy.ascontiguousarray");
  NpyArray array;
  array.dtype = row->first;
  array.shape = dict.shape;
  return array;
}

Expected<NpyArray> cp::parseNpy(StringRef file, StringRef label) {
  std::string start = quotedPath(label);
  StringRef data = file;
  Expected<StringRef> header = splitHeader(data, start);
  if (!header)
    return header.takeError();
  DictParser dict(*header);
  if (!dict.parse())
    return makeError(start +
                     ": header: expected a dictionary of descr, "
                     "fortran_order and shape, got " +
                     quoted(*header));
  Expected<NpyArray> array = checkHeader(dict, start);
  if (!array)
    return array;
  std::optional<int64_t> bytes = tensorBytes(array->shape, array->dtype);
  if (!bytes || uint64_t(*bytes) != data.size())
    return makeError(start + ": expected the " +
                     (bytes ? llvm::itostr(*bytes) : "more than 2^63-1") +
                     " bytes of shape " + shapeText(array->shape) + ", got " +
                     Twine(data.size()));
  array->bytes.assign(data.bytes_begin(), data.bytes_end());
  return array;
}

Expected<NpyArray> cp::readNpy(StringRef path) {
  auto buffer = openRegularFile(path, UINT64_MAX);
  if (!buffer)
    return buffer.takeError();
  return parseNpy((*buffer)->getBuffer(), path);
}

/// The dictionary as NumPy writes it, ended by a newline at a multiple of 64.
static std::string headerText(StringRef descr, ArrayRef<int64_t> shape) {
  std::string sizes;
  for (int64_t size : shape)
    sizes += (sizes.empty() ? "" : ", ") + llvm::itostr(size);
  if (shape.size() == 1)
    sizes += ",";
  std::string text = ("{'descr': '" + descr +
                      "', 'fortran_order': False, 'shape': (" + sizes + "), }")
                         .str();
  size_t used = magic.size() + 4 + text.size() + 1;
  text.append(llvm::alignTo(used, 64) - used, ' ');
  return text + "\n";
}

Error cp::writeNpy(StringRef path, DType dtype, ArrayRef<int64_t> shape,
                   ArrayRef<uint8_t> bytes) {
  std::string label = quotedPath(path);
  const auto *row = llvm::find_if(
      descrs, [&](const auto &entry) { return entry.first == dtype; });
  if (row == std::end(descrs))
    return makeError(label + ": expected F32, F64, I32 or I64, got " +
                     dtypeName(dtype));
  std::optional<int64_t> expected = tensorBytes(shape, dtype);
  if (!expected || uint64_t(*expected) != bytes.size())
    return makeError(label + ": expected the bytes of " + dtypeName(dtype) +
                     shapeText(shape) + ", got " + Twine(bytes.size()));
  std::string header = headerText(row->second, shape);
  if (header.size() > UINT16_MAX)
    return makeError(label +
                     ": expected a header of at most 65535 bytes, got " +
                     Twine(header.size()));
  return writeAtomically(path, [&](llvm::raw_ostream &out) {
    out << magic << '\x01' << '\x00';
    llvm::support::endian::write<uint16_t>(out, uint16_t(header.size()),
                                           llvm::endianness::little);
    out << header << llvm::toStringRef(bytes);
  });
}
