//===- Inputs.cpp - Weights and inputs from files or a seed -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "cp/Frontend/Mamba2Importer.h"
#include "cp/Model/Npy.h"
#include "cp/Model/Random.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using llvm::StringRef;

namespace cp {
namespace {

template <typename T> llvm::MutableArrayRef<T> elements(HostTensor &tensor) {
  return {reinterpret_cast<T *>(tensor.bytes.data()),
          tensor.bytes.size() / sizeof(T)};
}

template <typename T>
void drawIds(HostTensor &tensor, uint64_t key, int64_t below) {
  llvm::MutableArrayRef<T> ids = elements<T>(tensor);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<T>(splitMix64(key, i) % static_cast<uint64_t>(below));
}

/// Integers below `below` of cp.init = {kind = "ids", below = ...}.
llvm::Error drawIntegers(const TensorSpec &spec, uint64_t seed,
                         HostTensor &tensor) {
  auto below = spec.init ? spec.init.getAs<mlir::IntegerAttr>("below")
                         : mlir::IntegerAttr();
  if (!below || below.getInt() < 1)
    return llvm::createStringError(
        "'" + spec.name +
        "' holds integers and has no cp.init = {kind = \"ids\", below = N}; "
        "give it by --inputs");
  uint64_t key = seed ^ fnv1a64(spec.name);
  if (spec.dtype == DType::I32)
    drawIds<int32_t>(tensor, key, below.getInt());
  else
    drawIds<int64_t>(tensor, key, below.getInt());
  return llvm::Error::success();
}

/// Draws as float and rounds to nearest even.
void drawBF16(const InitSpec &init, StringRef name, uint64_t seed,
              HostTensor &tensor) {
  std::vector<float> values(tensor.numElements());
  drawWeightSlice(init, name, seed, 0, llvm::MutableArrayRef<float>(values));
  llvm::MutableArrayRef<uint16_t> out = elements<uint16_t>(tensor);
  for (size_t i = 0; i < out.size(); ++i) {
    llvm::APFloat value(values[i]);
    bool inexact;
    value.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                  &inexact);
    out[i] = static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
  }
}

llvm::Expected<HostTensor> draw(const TensorSpec &spec, uint64_t seed) {
  HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
  if (spec.dtype == DType::I32 || spec.dtype == DType::I64) {
    if (llvm::Error error = drawIntegers(spec, seed, tensor))
      return error;
    return tensor;
  }
  std::optional<InitSpec> init = InitSpec::normal(1.0);
  if (spec.init)
    init = fromAttr(spec.init);
  if (!init)
    return llvm::createStringError("the cp.init of '" + spec.name +
                                   "' says nothing that can be drawn");
  if (spec.dtype == DType::BF16)
    drawBF16(*init, spec.name, seed, tensor);
  else if (spec.dtype == DType::F32)
    drawWeightSlice(*init, spec.name, seed, 0, elements<float>(tensor));
  else
    drawWeightSlice(*init, spec.name, seed, 0, elements<double>(tensor));
  return tensor;
}

HostTensor copyOf(const TensorView &view) {
  HostTensor tensor;
  tensor.dtype = view.dtype;
  tensor.shape = view.shape;
  tensor.bytes.assign(view.bytes.begin(), view.bytes.end());
  return tensor;
}

/// The first bytes of a text, one token id each.
llvm::Expected<HostTensor> readText(StringRef path, const TensorSpec &spec) {
  llvm::sys::fs::file_status status;
  // To open a pipe that nobody writes to would wait for ever.
  if (!llvm::sys::fs::status(path, status) &&
      !llvm::sys::fs::is_regular_file(status))
    return llvm::createStringError(path + ": expected a regular file, got " +
                                   (llvm::sys::fs::is_directory(status)
                                        ? "a directory"
                                        : "a pipe, socket or device"));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  StringRef text = (*buffer)->getBuffer();
  HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
  if (spec.dtype != DType::I32)
    return llvm::createStringError(path + ": '" + spec.name +
                                   "' takes no token ids");
  llvm::MutableArrayRef<int32_t> ids = elements<int32_t>(tensor);
  if (text.size() < ids.size())
    return llvm::createStringError(
        path + ": '" + spec.name + "' needs " + std::to_string(ids.size()) +
        " bytes, but the file has " + std::to_string(text.size()) +
        "; import the model with a smaller --seq");
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<uint8_t>(text[i]);
  return tensor;
}

llvm::Expected<HostTensor> readArray(StringRef path, const TensorSpec &spec) {
  llvm::Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  if (array->dtype != spec.dtype || array->shape != spec.shape)
    return llvm::createStringError(
        path + ": '" + spec.name + "' must be " + dtypeName(spec.dtype) + " " +
        shapeText(spec.shape) + ", but the file holds " +
        dtypeName(array->dtype) + " " + shapeText(array->shape));
  return HostTensor{array->dtype, array->shape, std::move(array->bytes)};
}

/// Where arguments come from.
struct Sources {
  std::optional<TensorFile> weights, inputs;
};

llvm::Error openFile(const std::string &path, std::optional<TensorFile> &into) {
  if (path.empty())
    return llvm::Error::success();
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  into = std::move(*file);
  return llvm::Error::success();
}

llvm::Expected<HostTensor>
gather(const TensorSpec &spec, const Sources &sources, const Options &options) {
  if (spec.isParam)
    return sources.weights ? readTensor(*sources.weights, spec)
                           : draw(spec, options.seed);
  StringRef extension = llvm::sys::path::extension(options.inputs);
  if (extension == ".npy")
    return readArray(options.inputs, spec);
  if (extension == ".txt")
    return readText(options.inputs, spec);
  return sources.inputs ? readTensor(*sources.inputs, spec)
                        : draw(spec, options.seed);
}

} // namespace

llvm::Expected<HostTensor> readTensor(const TensorFile &file,
                                      const TensorSpec &spec) {
  llvm::Expected<TensorView> view =
      bindWeight(file, spec.name, spec.shape, spec.dtype);
  if (!view)
    return view.takeError();
  return copyOf(*view);
}

llvm::Expected<std::vector<HostTensor>>
gatherInputs(llvm::ArrayRef<TensorSpec> specs, const Options &options) {
  Sources sources;
  if (llvm::Error error = openFile(options.weights, sources.weights))
    return error;
  StringRef extension = llvm::sys::path::extension(options.inputs);
  bool single = extension == ".npy" || extension == ".txt";
  size_t others = llvm::count_if(
      specs, [](const TensorSpec &spec) { return !spec.isParam; });
  if (single && others != 1)
    return llvm::createStringError(
        options.inputs + " holds one input, but the model takes " +
        std::to_string(others) + "; give them by name in a .safetensors file");
  if (!single)
    if (llvm::Error error = openFile(options.inputs, sources.inputs))
      return error;
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : specs) {
    llvm::Expected<HostTensor> tensor = gather(spec, sources, options);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

std::vector<TensorView> viewsOf(llvm::ArrayRef<TensorSpec> specs,
                                llvm::ArrayRef<HostTensor> tensors,
                                bool paramsOnly) {
  std::vector<TensorView> views;
  for (auto [spec, tensor] : llvm::zip_equal(specs, tensors))
    if (spec.isParam || !paramsOnly)
      views.push_back({spec.name, tensor.dtype, tensor.shape, tensor.bytes});
  return views;
}

} // namespace cp
