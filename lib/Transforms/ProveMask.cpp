//===- ProveMask.cpp - Masks that say what attributes say -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProveMask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cp {
namespace {

/// The constant elements of a mask, [queries, keys].
class Mask {
public:
  explicit Mask(DenseElementsAttr elements)
      : elements(elements), keys(elements.getType().getShape()[1]),
        queries(elements.getType().getShape()[0]) {}

  bool hidesNothing() const {
    if (elements.isSplat())
      return elements.getSplatValue<bool>();
    return llvm::all_of(elements.getValues<bool>(),
                        [](bool sees) { return sees; });
  }

  /// How many keys, the own one the last, the last query sees: the window, if
  /// the mask is causal at all.
  int64_t lastWindow() const {
    auto values = elements.getValues<bool>();
    int64_t window = 0;
    while (window < keys && values[queries * keys - 1 - window])
      ++window;
    return window;
  }

  /// The first query and key at which this is not the causal mask with a window
  /// of so many keys.
  std::optional<std::pair<int64_t, int64_t>> departure(int64_t window) const {
    for (auto [i, sees] : llvm::enumerate(elements.getValues<bool>())) {
      int64_t query = i / keys, key = i % keys;
      if (sees != (key <= query && key > query - window))
        return std::pair(query, key);
    }
    return std::nullopt;
  }

  DenseElementsAttr elements;
  int64_t keys, queries;
};

LogicalResult refuse(AttentionOp attention, const Twine &why) {
  return attention.emitOpError("mask_c1: the mask must be a constant that is "
                               "causal, with a window or without, or hides "
                               "nothing, since no other can be cut with the "
                               "sequence; ")
         << why << "; use causal and window instead";
}

} // namespace

LogicalResult proveMask(AttentionOp attention) {
  DenseElementsAttr elements;
  if (!matchPattern(attention.getMask(), m_Constant(&elements)))
    return refuse(attention, "it is no constant of known elements");
  Mask mask(elements);
  if (elements.empty() || mask.hidesNothing()) {
    attention.getMaskMutable().clear();
    return success();
  }
  if (mask.queries != mask.keys)
    return refuse(attention, "it is of " + Twine(mask.queries) +
                                 " queries and " + Twine(mask.keys) + " keys");
  // A query that is causal sees itself at least.
  int64_t window = std::max<int64_t>(mask.lastWindow(), 1);
  if (auto place = mask.departure(window))
    return refuse(attention, "query " + Twine(place->first) + " and key " +
                                 Twine(place->second) + " depart from it");
  attention.setCausal(true);
  // A window of all keys hides none.
  int64_t given = attention.getWindow();
  if (window < mask.keys && (given == 0 || window < given))
    attention.setWindow(window);
  attention.getMaskMutable().clear();
  return success();
}

} // namespace cp
