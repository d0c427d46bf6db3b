//===- Inputs.cpp - Weights and inputs from files or a seed -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "ReadTensors.h"
#include "Rows.h"
#include "Training.h"
#include "cp/Model/Random.h"
#include "cp/Model/Weights.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace cp {

bool hasName(llvm::ArrayRef<TensorSpec> specs, StringRef name) {
  return llvm::any_of(
      specs, [&](const TensorSpec &spec) { return spec.name == name; });
}

bool hasLabel(const HostTensor &labels) {
  auto *first = reinterpret_cast<const int32_t *>(labels.bytes.data());
  return std::any_of(first, first + labels.numElements(),
                     [](int32_t label) { return label >= 0; });
}

bool areTokens(const HostTensor &labels, const HostTensor &ids) {
  constexpr size_t few = 4;
  if (labels.shape != ids.shape || labels.shape.empty() ||
      labels.dtype != DType::I32 || ids.dtype != DType::I32)
    return false;
  auto *label = reinterpret_cast<const int32_t *>(labels.bytes.data());
  auto *id = reinterpret_cast<const int32_t *>(ids.bytes.data());
  auto length = size_t(labels.shape.back());
  size_t asked = 0;
  bool mayBeNext = true;
  for (size_t i = 0; i < labels.bytes.size() / sizeof *label; ++i) {
    if (label[i] < 0)
      continue;
    if (label[i] != id[i])
      return false;
    ++asked;
    // Behind the last one that is asked there may be padding.
    mayBeNext &=
        (i + 1) % length == 0 || label[i + 1] < 0 || label[i] == id[i + 1];
  }
  return asked >= few && !mayBeNext;
}

bool isDocuments(const TensorSpec &spec) {
  bool isNamed = spec.init ? spec.init->kind == InitSpec::Kind::Documents
                           : spec.name == "cu_seqlens";
  return isNamed && !spec.isParam && spec.dtype == DType::I32 &&
         spec.shape.size() == 2;
}

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

/// What cuts `length` tokens into documents somewhere, some of them empty: a
/// list of the last dimension for each index of the others.
template <typename T>
void drawDocuments(HostTensor &tensor, uint64_t key, int64_t length) {
  llvm::MutableArrayRef<T> all = elements<T>(tensor);
  size_t count = size_t(tensor.shape.back());
  for (size_t first = 0; count && first < all.size(); first += count) {
    llvm::MutableArrayRef<T> ends = all.slice(first, count);
    for (size_t i = 0; i < count; ++i)
      ends[i] = static_cast<T>(splitMix64(key, first + i) %
                               static_cast<uint64_t>(length + 1));
    llvm::sort(ends);
    ends.back() = static_cast<T>(length);
    ends.front() = 0;
  }
}

/// Documents, or ids, as integers of type T.
template <typename T>
bool drawIntegers(const InitSpec &init, uint64_t key, HostTensor &tensor) {
  bool drawsIds = init.kind == InitSpec::Kind::Ids && init.count > 0;
  bool drawsEnds = init.kind == InitSpec::Kind::Documents && init.count >= 0 &&
                   !tensor.shape.empty();
  if (drawsIds)
    drawIds<T>(tensor, key, init.count);
  else if (drawsEnds)
    drawDocuments<T>(tensor, key, init.count);
  return drawsIds || drawsEnds;
}

llvm::Error drawIntegers(const TensorSpec &spec, uint64_t seed,
                         HostTensor &tensor) {
  uint64_t key = seed ^ fnv1a64(spec.name);
  auto draw =
      spec.dtype == DType::I32 ? drawIntegers<int32_t> : drawIntegers<int64_t>;
  if (spec.init && draw(*spec.init, key, tensor))
    return llvm::Error::success();
  return llvm::createStringError(
      "'" + spec.name +
      "' holds integers and has no cp.init = {kind = \"ids\", below = N}, or "
      "{kind = \"documents\", length = L}; give it by --inputs");
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
  InitSpec init = spec.init.value_or(InitSpec::normal(1.0));
  if (!drawsFractions(init))
    return llvm::createStringError(
        "the cp.init of '" + spec.name +
        "' says nothing that can be drawn of floats; "
        "give zeros, ones, log_arange, normal or "
        "uniform with a scale, or log_uniform or "
        "dt_bias with low and high");
  if (spec.dtype == DType::BF16)
    drawBF16(init, spec.name, seed, tensor);
  else if (spec.dtype == DType::F32)
    drawWeightSlice(init, spec.name, seed, 0, elements<float>(tensor));
  else
    drawWeightSlice(init, spec.name, seed, 0, elements<double>(tensor));
  return tensor;
}

/// Where arguments come from.
struct Sources {
  std::optional<TensorFile> weights, inputs;
  const RowBatch *rows = nullptr;
  Conversions ofWeights, ofInputs;
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

llvm::Expected<HostTensor> gather(const TensorSpec &spec, Sources &sources,
                                  const RunFlags &options) {
  if (spec.isParam)
    return sources.weights
               ? readTensor(*sources.weights, spec, sources.ofWeights)
               : draw(spec, options.seed);
  if (sources.rows) {
    llvm::Expected<HostTensor> tensor = sources.rows->take(spec);
    if (!tensor)
      return llvm::createStringError(options.rows + ": " +
                                     llvm::toString(tensor.takeError()));
    return tensor;
  }
  if (holdsOneTensor(options.inputs))
    return readSingle(options.tool, options.inputs, spec);
  return sources.inputs ? readTensor(*sources.inputs, spec, sources.ofInputs)
                        : draw(spec, options.seed);
}

/// Refuses what a file holds beyond the tensors of these names, or says it (a
/// tool without a name is silent).
llvm::Error checkUnused(const TensorFile &file, StringRef tool,
                        llvm::ArrayRef<std::string> names, bool ignore) {
  std::vector<std::string> unbound = unboundNames(file, names);
  if (unbound.empty())
    return llvm::Error::success();
  std::string text = file.label().str() + ": the model does not take " +
                     std::to_string(unbound.size()) + " of the file's " +
                     std::to_string(file.tensors().size()) +
                     " tensors: " + describeUnbound(unbound);
  // Not every tool has that flag.
  bool canIgnore =
      llvm::cl::getRegisteredOptions().count("ignore-unused-weights");
  if (!ignore)
    return llvm::createStringError(
        text +
        "; make the program of the configuration that the file came "
        "with" +
        (canIgnore ? ", or leave them out by --ignore-unused-weights"
                   : ", or take them out of the file"));
  if (!tool.empty())
    llvm::errs() << tool << ": warning: " << text << "\n";
  return llvm::Error::success();
}

llvm::Error checkUnused(const Sources &sources,
                        llvm::ArrayRef<TensorSpec> specs,
                        const RunFlags &options) {
  // Nobody else warns.
  StringRef tool = options.speaks() ? StringRef(options.tool) : "";
  // One file may hold both.
  bool isOneFile = options.weights == options.inputs;
  std::vector<std::string> params, inputs;
  for (const TensorSpec &spec : specs) {
    if (spec.isParam || isOneFile)
      params.push_back(spec.name);
    if (!spec.isParam || isOneFile)
      inputs.push_back(spec.name);
  }
  if (sources.weights)
    if (llvm::Error error = checkUnused(*sources.weights, tool, params,
                                        options.ignoreUnusedWeights))
      return error;
  if (sources.inputs && !isOneFile)
    return checkUnused(*sources.inputs, tool, inputs,
                       options.ignoreUnusedWeights);
  return llvm::Error::success();
}

} // namespace

/// Opens what holds the arguments that are no parameters.
static llvm::Error openInputs(llvm::ArrayRef<TensorSpec> specs,
                              const RunFlags &options, Inputs &gathered,
                              Sources &sources) {
  if (!options.rows.empty()) {
    if (llvm::Error error = readRows(options, specs).moveInto(gathered.rows))
      return error;
    sources.rows = &*gathered.rows;
    return llvm::Error::success();
  }
  if (!holdsOneTensor(options.inputs))
    return openFile(options.inputs, sources.inputs);
  size_t others = llvm::count_if(specs, [&](const TensorSpec &spec) {
    return !spec.isParam && !isLabels(spec, options);
  });
  if (others == 1)
    return llvm::Error::success();
  return llvm::createStringError(
      options.inputs + " holds one input, but the model takes " +
      std::to_string(others) + "; give them by name in a .safetensors file");
}

std::vector<const HostTensor *> Inputs::pointers() const {
  std::vector<const HostTensor *> all;
  for (const HostTensor &tensor : tensors)
    all.push_back(&tensor);
  return all;
}

/// Hands a parameter over: of a file as it lies there.
static llvm::Error handOver(const TensorSpec &spec, Sources &sources,
                            const RunFlags &options, ParameterSink sink) {
  if (!sources.weights) {
    llvm::Expected<HostTensor> drawn = draw(spec, options.seed);
    if (!drawn)
      return drawn.takeError();
    return sink(spec, {spec.name, drawn->dtype, drawn->shape, drawn->bytes},
                nullptr);
  }
  const TensorFile &file = *sources.weights;
  llvm::Expected<TensorView> view =
      bindWeight(file, spec.name, spec.shape, spec.dtype);
  if (!view)
    return view.takeError();
  sources.ofWeights.add(view->dtype, spec.dtype);
  auto release = [&file] { file.release(); };
  llvm::Error error = sink(spec, *view, release);
  release();
  return error ? llvm::createStringError(file.label() + ": " +
                                         llvm::toString(std::move(error)))
               : llvm::Error::success();
}

llvm::Expected<Inputs> gatherInputs(llvm::ArrayRef<TensorSpec> specs,
                                    const RunFlags &options,
                                    ParameterSink sink) {
  Sources sources;
  Inputs gathered;
  if (llvm::Error error = openFile(options.weights, sources.weights))
    return error;
  if (llvm::Error error = openInputs(specs, options, gathered, sources))
    return error;
  for (const TensorSpec &spec : specs) {
    if (spec.isParam && sink) {
      if (llvm::Error error = handOver(spec, sources, options, sink))
        return error;
      gathered.tensors.emplace_back();
      continue;
    }
    bool areMade = isLabels(spec, options) && !sources.rows &&
                   !(sources.inputs && sources.inputs->find(spec.name));
    if (isLabels(spec, options) && !areMade && !options.labels.empty())
      return llvm::createStringError(
          "--labels and " + options.inputs +
          " both have 'labels'; leave one of them out");
    llvm::Expected<HostTensor> tensor =
        areMade ? gatherLabels(spec, specs, gathered.tensors, options)
                : gather(spec, sources, options);
    if (!tensor)
      return tensor.takeError();
    gathered.tensors.push_back(std::move(*tensor));
  }
  if (llvm::Error error = checkUnused(sources, specs, options))
    return error;
  if (!options.speaks())
    return gathered;
  sources.ofWeights.print(options.tool, options.weights);
  sources.ofInputs.print(options.tool, options.inputs);
  return gathered;
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
