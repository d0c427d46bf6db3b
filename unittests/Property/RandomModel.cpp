//===- RandomModel.cpp - Models at random ---------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"

#include "ModelText.h"

#include "cp/Model/Random.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using llvm::formatv;

namespace cp::test {
namespace {

/// Draws layers.
class Writer : ModelText {
public:
  Writer(Dice &dice, const RandomSharding &sharding, std::string dtype)
      : ModelText(std::move(dtype)), dice(dice), sharding(sharding) {
    batch =
        dice.between(1, 2) * partsOf(sharding.value.mesh, sharding.value.batch);
    width = 2 * dice.between(3, 8);
    // A rank's rows may be fewer than the three before them that a window of
    // four reads.
    length = sharding.sequenceMultiple * dice.between(1, 6);
    // Nor need they be as many on each rank, or any at all. (By what is drawn
    // already, so that draws of before stay what they were.)
    int64_t multiple = sharding.sequenceMultiple;
    isOdd = (length / multiple + width / 2) % 5 < 2 && multiple > 1;
    if (isOdd)
      length -= 1 + (width + length / multiple) % (multiple - 1);
    if (dice.chance(0.4))
      addDocuments();
  }

  using ModelText::isPacked;
  /// Whether keys travel in causal attention of documents.
  bool hasPackedRing = false;
  bool hasPadding() const { return isOdd; }
  /// See RandomModel.
  std::string sizes;

  std::string write() {
    std::string x = "%x";
    // Of what every rank has whole it takes its own tokens.
    if (dice.chance(0.3) && !isOdd)
      x = add(x, weight("state", {batch, length, width}), residual());
    // (Again by what is drawn already.)
    if ((length + width / 2) % 4 == 1 && !isOdd)
      x = addSized(x);
    int64_t layers = dice.between(1, 3);
    for (int64_t i = 0; i < layers; ++i) {
      x = add(x, layer(normed(x)), residual());
      // What orders per document stop at. (By what is drawn already.)
      if ((length + width / 2 + i) % 5 == 2 && batch > 1)
        x = mixed(x);
      if ((length + width / 2 + i) % 7 == 3 && !isOdd)
        x = addTable(x);
    }
    x = normed(x);
    return formatv(
        "func.func @main(%x: {0} {{cp.name = \"x\", cp.sequence = 1 "
        ": i64}{1}) -> ({0}{2}) {{\n{3}  return {4}{5} : {0}{2}\n}\n",
        residual(), arguments, resultTypes, body, x, results);
  }

private:
  /// Rows of up to so many documents.
  void addDocuments() {
    documents = formatv("tensor<{0}x{1}xi32>", batch, dice.between(2, 7));
    arguments += formatv(", %cu: {0} {{cp.name = \"cu_seqlens\", cp.init = "
                         "{{kind = \"documents\", length = {1} : i64}}",
                         documents, length);
  }

  /// Adds what comes in parts of sizes of their own, of tokens or of channels,
  /// to whoever has them.
  std::string addSized(const std::string &x) {
    Dice own(uint64_t(length * width));
    int64_t dim = own.between(1, 2);
    sizes = drawSizes(own, dim, dim == 1 ? length : width);
    std::string all = residual(), sized = all;
    sized.insert(sized.size() - 1, sizes);
    std::string value = weight("state", {batch, length, width}, sizes);
    std::string empty = emit("tensor.empty() : {0}", all);
    return emit("linalg.add ins({0}, {1} : {2}, {3}) outs({4} : {2}) -> {2}", x,
                value, all, sized, empty);
  }
  /// Of the first axis; of ranks that hold nothing too.
  std::string drawSizes(Dice &own, int64_t dim, int64_t left) const {
    const Mesh &mesh = sharding.value.mesh;
    std::string text = ", #cp.layout<#cp.mesh<";
    for (const Mesh::Axis &axis : mesh.axes)
      text += formatv("{0}\"{1}\" = {2}", &axis == &mesh.axes[0] ? "" : ", ",
                      axis.name, axis.size);
    text += std::string(">, [{}, ") + (dim == 1 ? "" : "{}, ") + "{\"" +
            mesh.axes[0].name + "\" sizes [";
    for (int64_t rank = 1; rank <= mesh.axes[0].size; ++rank) {
      bool isLast = rank == mesh.axes[0].size;
      int64_t size = isLast ? left : own.between(0, left);
      left -= size;
      text += std::to_string(size) + (isLast ? "]}" : ", ");
    }
    return text + (dim == 1 ? ", {}]>" : "]>");
  }

  std::string layer(const std::string &x) {
    switch (dice.between(0, 6)) {
    case 0:
    case 1:
      return mixer(x);
    case 2:
    case 3:
    case 4:
      return attention(x);
    case 5:
      return scan(x);
    default:
      return mlp(x);
    }
  }

  /// A multiple of every number of ranks over which heads may be cut, or as
  /// many as there are ranks and a few.
  int64_t drawHeads() {
    if (dice.chance(0.4))
      return sharding.headParts.back() + dice.between(0, 5);
    return sharding.headParts.back() *
           dice.between(1, sharding.headParts.back() > 4 ? 1 : 3);
  }

  /// A divisor.
  int64_t drawGroups(int64_t heads) {
    Sizes fitting;
    for (int64_t groups = 1; groups <= heads; ++groups)
      if (heads % groups == 0)
        fitting.push_back(groups);
    return dice.oneOf(fitting);
  }

  /// An attribute that overrides the option, sometimes.
  std::string strategy() {
    if (dice.chance(0.7))
      return "";
    return ", strategy = \"" + dice.oneOf<std::string>({"hidden", "sequence"}) +
           "\"";
  }

  std::string mixer(const std::string &x) {
    int64_t heads = drawHeads(), groups = drawGroups(heads);
    int64_t headDim = dice.between(1, 5), states = dice.between(1, 6);
    int64_t inner = heads * headDim, shared = groups * states;
    int64_t window = dice.between(1, 4), channels = inner + 2 * shared;
    int64_t rows = 2 * inner + 2 * shared + heads;
    int64_t normGroups = dice.oneOf<int64_t>({1, groups, heads});
    // The norm of one number is its sign, which a rounding in bf16 may turn.
    if (dtype == "bf16" && inner == normGroups)
      normGroups = 1;
    Sizes skip = dice.chance(0.5) ? Sizes{heads} : Sizes{heads, headDim};
    std::string in = weight("matrix", {rows, width}),
                conv = weight("matrix", {channels, window}),
                convBias = weight("bias", {channels}),
                dtBias = weight("dt_bias", {heads}),
                decay = weight("A_log", {heads}), d = weight("norm", skip),
                norm = weight("norm", {inner}),
                out = weight("matrix", {width, inner});
    std::string attributes = formatv(
        "num_heads = {0} : i64, head_dim = {1} : i64, num_groups = {2} : i64, "
        "state_size = {3} : i64, chunk_size = {4} : i64, norm_groups = {5} : "
        "i64, gate_first = {6}{7}",
        heads, headDim, groups, states, dice.between(1, 9), normGroups,
        dice.chance(0.5) ? "true" : "false", strategy());
    return emit("cp.mamba_mixer {0} in_proj({1}) conv({2}, {3}) dt_bias({4}) "
                "A_log({5}) D({6}) norm({7}) out_proj({8}){18} {{{9}} : ({10}, "
                "{11}, {12}, {13}, {14}, {14}, {15}, {16}, {17}{19}) -> {10}",
                x, in, conv, convBias, dtBias, decay, d, norm, out, attributes,
                residual(), type({rows, width}), type({channels, window}),
                type({channels}), type({heads}), type(skip), type({inner}),
                type({width, inner}), isPacked() ? " documents(%cu)" : "",
                isPacked() ? ", " + documents : "");
  }

  std::string attentionAttributes(bool causal, AttentionForm &form) {
    std::string text = formatv("causal = {0}", causal ? "true" : "false");
    if (causal && dice.chance(0.4))
      text += formatv(", window = {0} : i64", dice.between(1, length));
    if (dice.chance(0.3))
      text += ", scale = 0.7 : f64";
    form = sharding.value.attention;
    if (dice.chance(0.3)) {
      form = dice.oneOf<AttentionForm>(
          {AttentionForm::Ulysses, AttentionForm::Ring, AttentionForm::Gather});
      text += ", form = \"" + stringifyEnum(form).str() + "\"";
    }
    return text;
  }

  /// Rotary embedding, of some channels of a head.
  std::string rotated(const std::string &x, int64_t heads, int64_t keys,
                      int64_t dims) {
    return emit("cp.rotary {0} positions({1}) {{theta = 50.0 : f64, dims = {2} "
                ": i64} : ({3}, {4}) -> {3}",
                x, places(), dims, type({batch, length, heads, keys}),
                placesType());
  }

  std::string attention(const std::string &x) {
    int64_t heads = drawHeads(), groups = drawGroups(heads);
    int64_t keys = dice.between(1, 6), channels = dice.between(1, 6);
    std::string q =
        split(project(x, width, heads * keys, "columns"), heads, keys);
    std::string k =
        split(project(x, width, groups * keys, "columns"), groups, keys);
    std::string v = split(project(x, width, groups * channels, "columns"),
                          groups, channels);
    if (keys > 1 && dice.chance(0.5)) {
      int64_t dims = 2 * dice.between(1, keys / 2);
      q = rotated(q, heads, keys, dims);
      k = rotated(k, groups, keys, dims);
    }
    std::string name = fresh(), sums = "tensor<";
    for (int64_t size : {batch, heads, length})
      sums += std::to_string(size) + "x";
    sums += dtype == "f64" ? "f64>" : "f32>";
    // Rows of padding are behind all others.
    bool causal = dice.chance(0.8) || isOdd;
    std::string own, ownType;
    if (causal && isPacked()) {
      own = formatv(" places({0})", places());
      ownType = ", " + placesType();
    }
    AttentionForm form;
    std::string attributes = attentionAttributes(causal, form);
    bool travelsOverOne = form == (sharding.hasTwoAxes ? AttentionForm::TwoD
                                                       : AttentionForm::Ring);
    hasPackedRing |= travelsOverOne && !own.empty();
    body += formatv(
        "  {0}:2 = cp.attention {1}, {2}, {3}{10} {{{4}} : ({5}, {6}, {7}{11}) "
        "-> ({8}, {9})\n",
        name, q, k, v, attributes, type({batch, length, heads, keys}),
        type({batch, length, groups, keys}),
        type({batch, length, groups, channels}),
        type({batch, length, heads, channels}), sums, own, ownType);
    return project(merge(name + "#0", heads, channels), heads * channels, width,
                   "rows");
  }

  /// A convolution and a scan by themselves, with rows and a state before the
  /// first, where there are no documents, which begin anew.
  std::string scan(const std::string &x) {
    int64_t heads = drawHeads(), groups = drawGroups(heads);
    int64_t headDim = dice.between(1, 4), states = dice.between(1, 5);
    int64_t inner = heads * headDim, shared = groups * states;
    int64_t window = dice.between(2, 4);
    std::string chosen = strategy();
    std::string u = project(x, width, inner, "columns");
    std::string own, ownType, before, beforeType;
    if (isPacked()) {
      before = own = formatv(" places({0})", places());
      beforeType = ownType = ", " + placesType();
    } else {
      before = " initial(" + weight("state", {batch, window - 1, inner}) + ")";
      beforeType = ", " + type({batch, window - 1, inner});
    }
    std::string conv = emit(
        "cp.conv1d {0} weight({1}){2} {{silu = true{3}} : ({4}, {5}{6}) -> {4}",
        u, weight("matrix", {inner, window}), before, chosen, tokens(inner),
        type({inner, window}), beforeType);
    std::string dt = project(x, width, heads, "columns", "steps");
    std::string b = split(project(x, width, shared, "columns"), groups, states);
    std::string c = split(project(x, width, shared, "columns"), groups, states);
    std::string heads4 = type({batch, length, heads, headDim}),
                groups4 = type({batch, length, groups, states}),
                state = type({batch, heads, headDim, states});
    std::string operands =
        formatv("{0} dt({1}) A_log({2}) B({3}) C({4}) dt_bias({5})",
                split(conv, heads, headDim), dt, weight("A_log", {heads}), b, c,
                weight("dt_bias", {heads}));
    std::string types = formatv("{0}, {1}, {2}, {3}, {3}, {2}", heads4,
                                tokens(heads), type({heads}), groups4);
    std::string attributes =
        formatv("chunk_size = {0} : i64{1}", dice.between(1, 9), chosen);
    bool hasInitial = dice.chance(0.6) && !isPacked();
    if (hasInitial) {
      operands +=
          " initial(" + weight("state", {batch, heads, headDim, states}) + ")";
      types += ", " + state;
    }
    operands += own;
    types += ownType;
    std::string name = fresh();
    body += formatv("  {0}:2 = cp.ssd {1} {{{2}} : ({3}) -> ({4}, {5})\n", name,
                    operands, attributes, types, heads4, state);
    // What it ends with is a result; a sum with a state is not traced. It is
    // not that behind padding.
    if (!hasInitial && !isOdd) {
      results += ", " + name + "#1";
      resultTypes += ", " + state;
    }
    return project(merge(name + "#0", heads, headDim), inner, width, "rows");
  }

  std::string mlp(const std::string &x) {
    // Of odd width it has no use for tensor parallelism.
    int64_t hidden = dice.between(3, 16);
    std::string gate = project(x, width, hidden, "columns"),
                up = project(x, width, hidden, "columns");
    std::string t = tokens(hidden);
    std::string bent = emit("math.tanh {0} : {1}", gate, t);
    std::string product = emit("arith.mulf {0}, {1} : {2}", bent, up, t);
    if (dice.chance(0.5))
      return project(product, hidden, width, "rows");
    return projectOnto(x, product, hidden, width, "rows");
  }

  Dice &dice;
  const RandomSharding &sharding;
  /// Whether nothing may ask for the last row.
  bool isOdd = false;
};

} // namespace

RandomModel drawModel(Dice &dice, const RandomSharding &sharding) {
  RandomModel model;
  model.dtype =
      dice.oneOf<std::string>({"f64", "f64", "f64", "f64", "f32", "bf16"});
  model.decay =
      dice.oneOf<Decay>({Decay::AsPublished, Decay::Slow, Decay::Resets});
  // A rounding of a step in bf16 is a large part of what a state fades by.
  if (model.dtype == "bf16" && model.decay == Decay::Resets)
    model.decay = Decay::Slow;
  Writer writer(dice, sharding, model.dtype);
  model.isPacked = writer.isPacked();
  model.isOdd = writer.hasPadding();
  model.text = writer.write();
  model.hasPackedRing = writer.hasPackedRing;
  model.sizes = writer.sizes;
  return model;
}

std::string wholeText(const RandomModel &model) {
  std::string text = model.text;
  if (model.sizes.empty())
    return text;
  for (size_t at = 0; (at = text.find(model.sizes)) != std::string::npos;)
    text.erase(at, model.sizes.size());
  return text;
}

std::string describe(const RandomSharding &sharding, const RandomModel &model) {
  ShardingText text = textOf(sharding.value);
  return formatv("mesh={0} axis={1} order={2} mixer={3} attention={4} scan={5} "
                 "tp={6}{10} batch={7} {8} {9}{11}{12}{13}",
                 text.mesh, text.axis, text.order, text.mixer, text.attention,
                 text.scan, text.tensorAxis, text.batch, model.dtype,
                 describe(model.decay), text.tensorRows ? " tp-rows" : "",
                 model.isPacked ? " packed" : "", model.isOdd ? " odd" : "",
                 model.sizes.empty() ? "" : " sized");
}

} // namespace cp::test
