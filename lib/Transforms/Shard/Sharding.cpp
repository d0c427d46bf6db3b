//===- Sharding.cpp - How a model is sharded --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Sharding.h"

#include "cp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cp {

CutStrategy Sharding::strategyOf(SequenceOpInterface op) const {
  return needsWholeSequence(op) ? CutStrategy::Hidden
                                : op.getCutStrategy().value_or(mixer);
}

std::vector<Cut> Sharding::onHidden(CutStrategy strategy) const {
  std::vector<Cut> cuts = tensorParallel;
  auto first = sequence.begin();
  if (strategy == CutStrategy::Sequence)
    first = sequence.end();
  else if (strategy == CutStrategy::TwoD)
    first = std::prev(sequence.end(), hiddenCuts);
  for (; first != sequence.end(); ++first)
    cuts.push_back({first->axis, Order::Contiguous, 1});
  return cuts;
}

std::vector<Cut> Sharding::onSequence(CutStrategy strategy) const {
  if (strategy == CutStrategy::Hidden)
    return {};
  std::vector<Cut> cuts = sequence;
  if (strategy == CutStrategy::TwoD)
    cuts.resize(cuts.size() - hiddenCuts);
  return cuts;
}

std::vector<Cut> Sharding::rows() const {
  // Where documents end is known inside of a program only.
  std::vector<Cut> cuts =
      isPerDocument() ? inContiguousOrder(sequence) : sequence;
  if (tensorRows)
    llvm::append_range(cuts, tensorParallel);
  return cuts;
}

int64_t partsOf(const Mesh &mesh, ArrayRef<Cut> cuts) {
  int64_t parts = 1;
  for (const Cut &cut : cuts)
    parts *= mesh.axes[cut.axis].size;
  return parts;
}

namespace {

/// "hidden, sequence or 2d".
template <typename Enum> std::string allWords() {
  SmallVector<StringRef> words;
  for (int i = 0; !stringifyEnum(static_cast<Enum>(i)).empty(); ++i)
    words.push_back(stringifyEnum(static_cast<Enum>(i)));
  StringRef last = words.pop_back_val();
  return llvm::join(words, ", ") + " or " + last.str();
}

/// Reads the options one by one into a sharding.
class Reader {
public:
  Reader(const ShardingText &text, OptionSpelling spell)
      : text(text), spell(spell) {}

  llvm::Expected<Sharding> read() {
    sharding.replicateUnused = text.replicateUnused;
    sharding.partialGradients = text.partialGradients;
    llvm::Error error = readMesh();
    // As long as nothing is wrong.
    auto then = [&](llvm::function_ref<llvm::Error()> next) {
      if (!error)
        error = next();
    };
    then([&] { return readSequence(); });
    then([&] { return readBatch(); });
    then([&] { return readTensorAxis(); });
    then([&] { return readParams(); });
    then([&] { return readWord("mixer", text.mixer, sharding.mixer); });
    then([&] {
      return readWord("attention", text.attention, sharding.attention);
    });
    then([&] { return readWord("scan", text.scan, sharding.scan); });
    if (error)
      return error;
    return sharding;
  }

private:
  llvm::Error refuse(StringRef option, const std::string &allowed,
                     StringRef value) const {
    return llvm::createStringError(spell(option) + " must be " + allowed +
                                   ", but is '" + value.str() + "'");
  }

  llvm::Error readMesh() {
    std::string message;
    std::optional<Mesh> mesh = parseMesh(text.mesh, message);
    if (!mesh)
      return llvm::createStringError(message);
    sharding.mesh = std::move(*mesh);
    return llvm::Error::success();
  }

  llvm::Error readSequence() {
    std::optional<Cut> first = parseOrder(text.order);
    if (!first)
      return refuse("order",
                    "contiguous, zigzag, striped, striped:UNIT with a unit "
                    "of at least 1, zigzag_per_document, or "
                    "contiguous_per_document",
                    text.order);
    sharding.sequence.clear();
    for (StringRef name : llvm::split(text.axis, ','))
      if (llvm::Error error = addAxis(name, sharding.sequence))
        return error;
    first->axis = sharding.sequence.front().axis;
    sharding.sequence.front() = *first;
    return llvm::Error::success();
  }

  llvm::Error readBatch() {
    if (text.batch.empty())
      return llvm::Error::success();
    for (StringRef name : llvm::split(text.batch, ','))
      if (llvm::Error error = addAxis(name, sharding.batch))
        return error;
    return llvm::Error::success();
  }

  llvm::Error readTensorAxis() {
    sharding.tensorRows = text.tensorRows;
    if (!text.tensorAxis.empty())
      return addAxis(text.tensorAxis, sharding.tensorParallel);
    if (text.tensorRows)
      return llvm::createStringError(spell("tp-rows") +
                                     " cuts rows over the axis of tensor "
                                     "parallelism; name that by " +
                                     spell("tp"));
    return llvm::Error::success();
  }

  /// Any axes: what is cut over them elsewhere is other tensors.
  llvm::Error readParams() {
    if (text.params.empty())
      return llvm::Error::success();
    for (StringRef name : llvm::split(text.params, ',')) {
      llvm::Expected<int> axis = findAxis(name);
      if (!axis)
        return axis.takeError();
      if (llvm::any_of(sharding.params,
                       [&](const Cut &cut) { return cut.axis == *axis; }))
        return llvm::createStringError(spell("params") + " names axis '" +
                                       name.str() + "' twice");
      sharding.params.push_back(Cut{*axis});
    }
    return llvm::Error::success();
  }

  llvm::Expected<int> findAxis(StringRef name) const {
    int axis = sharding.mesh.findAxis(name);
    if (axis >= 0)
      return axis;
    return llvm::createStringError(
        "axis '" + name.str() + "' is not an axis of mesh '" +
        meshText(sharding.mesh) +
        "'; name one of these, or add it there, of 1 rank (" +
        meshText(sharding.mesh) + "," + name.str() +
        "=1) where nothing is cut over it");
  }

  /// Appends a cut over the axis of this name.
  llvm::Error addAxis(StringRef name, std::vector<Cut> &cuts) const {
    int axis = 0;
    if (llvm::Error error = findAxis(name).moveInto(axis))
      return error;
    for (const Cut &cut :
         llvm::concat<const Cut>(sharding.sequence, sharding.batch))
      if (cut.axis == axis)
        return llvm::createStringError(
            "axis '" + name.str() +
            "' is used twice; an axis cuts the sequence once, or the batch, or "
            "is that of tensor parallelism");
    cuts.push_back(Cut{axis});
    return llvm::Error::success();
  }

  template <typename Enum>
  llvm::Error readWord(StringRef option, StringRef word, Enum &value) const {
    std::optional<Enum> known = symbolizeEnum<Enum>(word);
    if (!known)
      return refuse(option, allWords<Enum>(), word);
    value = *known;
    return llvm::Error::success();
  }

  const ShardingText &text;
  OptionSpelling spell;
  Sharding sharding;
};

} // namespace

llvm::Expected<Sharding> parseSharding(const ShardingText &text,
                                       OptionSpelling spell) {
  return Reader(text, spell).read();
}

ShardingText textOf(const Sharding &sharding) {
  auto nameOf = [&](const Cut &cut) {
    return sharding.mesh.axes[cut.axis].name;
  };
  ShardingText text;
  text.mesh = meshText(sharding.mesh);
  text.axis = llvm::join(llvm::map_range(sharding.sequence, nameOf), ",");
  text.order = orderText(sharding.sequence.front());
  text.batch = llvm::join(llvm::map_range(sharding.batch, nameOf), ",");
  text.mixer = stringifyEnum(sharding.mixer);
  text.attention = stringifyEnum(sharding.attention);
  text.scan = stringifyEnum(sharding.scan);
  if (!sharding.tensorParallel.empty())
    text.tensorAxis = nameOf(sharding.tensorParallel.front());
  text.tensorRows = sharding.tensorRows;
  text.params = llvm::join(llvm::map_range(sharding.params, nameOf), ",");
  text.replicateUnused = sharding.replicateUnused;
  text.partialGradients = sharding.partialGradients;
  return text;
}

} // namespace cp
