//===- ReadTensors.cpp - Tensors of the types that a model takes ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadTensors.h"

#include "ReadTokens.h"
#include "cp/Files/Convert.h"
#include "cp/Files/Npy.h"
#include "cp/Model/Weights.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace cp {

void Conversions::add(DType from, DType to) {
  if (from != to)
    ++counts[{from, to}];
}

static StringRef describeStep(DType from, DType to) {
  if (isExact(from, to))
    return "widened to";
  bool toIntegers = to == DType::I32 || to == DType::I64;
  return toIntegers ? "narrowed to" : "rounded to";
}

void Conversions::print(StringRef tool, StringRef path) const {
  if (counts.empty())
    return;
  llvm::errs() << tool << ": remark: " << path << ": ";
  llvm::ListSeparator separator;
  for (const auto &[types, count] : counts)
    llvm::errs() << separator << count << (count == 1 ? " tensor" : " tensors")
                 << " of " << dtypeName(types.first) << " "
                 << describeStep(types.first, types.second) << " "
                 << dtypeName(types.second);
  llvm::errs() << "\n";
}

/// The elements as those of `spec`.
static llvm::Expected<HostTensor> convert(llvm::ArrayRef<uint8_t> bytes,
                                          DType from, const TensorSpec &spec,
                                          StringRef label) {
  auto converted = convertElements(bytes, from, spec.dtype, label);
  if (!converted)
    return converted.takeError();
  return HostTensor{spec.dtype, spec.shape, std::move(*converted)};
}

llvm::Expected<HostTensor> readTensor(const TensorFile &file,
                                      const TensorSpec &spec,
                                      Conversions &conversions) {
  llvm::Expected<TensorView> view =
      bindWeight(file, spec.name, spec.shape, spec.dtype);
  if (!view)
    return view.takeError();
  conversions.add(view->dtype, spec.dtype);
  return convert(view->bytes, view->dtype, spec,
                 file.label().str() + ": tensor '" + view->name + "'");
}

/// Token ids of any source as the argument's integers.
static llvm::Expected<HostTensor>
fromIds(llvm::ArrayRef<int64_t> ids, const TensorSpec &spec, StringRef path) {
  if (spec.dtype != DType::I32 && spec.dtype != DType::I64)
    return llvm::createStringError(path + ": '" + spec.name +
                                   "' takes no token ids");
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(ids.data()),
                                ids.size() * sizeof(int64_t));
  return convert(bytes, DType::I64, spec, path);
}

static int64_t numElements(const TensorSpec &spec) {
  return *tensorBytes(spec.shape, DType::U8);
}

static llvm::Expected<HostTensor> readText(StringRef path,
                                           const TensorSpec &spec) {
  llvm::Expected<std::vector<int64_t>> ids = readTokens(path.str());
  if (!ids)
    return ids.takeError();
  size_t needed = numElements(spec);
  if (ids->size() < needed)
    return llvm::createStringError(
        path + ": '" + spec.name + "' needs " + std::to_string(needed) +
        " bytes, but the file has " + std::to_string(ids->size()) +
        "; make the program with a smaller --seq");
  ids->resize(needed);
  return fromIds(*ids, spec, path);
}

static llvm::Expected<HostTensor> readIds(StringRef path,
                                          const TensorSpec &spec) {
  llvm::Expected<std::vector<int64_t>> ids = readTokenIds(path);
  if (!ids)
    return ids.takeError();
  int64_t count = ids->size();
  if (count != numElements(spec))
    return llvm::createStringError(
        path + ": '" + spec.name + "' is " + shapeText(spec.shape) +
        " and so takes " + std::to_string(numElements(spec)) +
        " token ids, but the file has " + std::to_string(count) +
        "; make the program with the --batch-size and --seq of the file");
  return fromIds(*ids, spec, path);
}

static llvm::Expected<HostTensor> readArray(StringRef tool, StringRef path,
                                            const TensorSpec &spec) {
  llvm::Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  if (!isConvertible(array->dtype, spec.dtype) || array->shape != spec.shape)
    return llvm::createStringError(
        path + ": '" + spec.name + "' must be " + dtypeName(spec.dtype) + " " +
        shapeText(spec.shape) + ", but the file holds " +
        dtypeName(array->dtype) + " " + shapeText(array->shape));
  Conversions conversions;
  conversions.add(array->dtype, spec.dtype);
  conversions.print(tool, path);
  return convert(array->bytes, array->dtype, spec, path);
}

bool holdsOneTensor(StringRef path) {
  StringRef extension = llvm::sys::path::extension(path);
  return extension == ".npy" || extension == ".ids" || extension == ".txt";
}

llvm::Expected<HostTensor> readSingle(StringRef tool, StringRef path,
                                      const TensorSpec &spec) {
  if (llvm::Error error = checkRegular(path))
    return error;
  StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".npy")
    return readArray(tool, path, spec);
  return extension == ".ids" ? readIds(path, spec) : readText(path, spec);
}

} // namespace cp
