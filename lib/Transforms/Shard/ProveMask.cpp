//===- ProveMask.cpp - Masks that say what attributes say -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProveMask.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cp {
namespace {

/// The constant elements of a mask, [queries, keys].
class Mask {
public:
  explicit Mask(DenseElementsAttr elements)
      : elements(elements), keys(elements.getType().getShape()[1]),
        queries(elements.getType().getShape()[0]) {}

  bool isEmpty() const { return queries == 0 || keys == 0; }

  /// Whether the number of elements is a number. That of a splat need not be,
  /// and upstream lets that of others wrap around.
  bool isCountable() const {
    int64_t count;
    return !llvm::MulOverflow(queries, keys, count);
  }

  bool hidesNothing() const {
    if (elements.isSplat())
      return elements.getSplatValue<bool>();
    return llvm::all_of(elements.getValues<bool>(),
                        [](bool sees) { return sees; });
  }

  /// How many keys, the own one the last, the last query sees: the window, if
  /// the mask is causal at all. The mask is countable.
  int64_t lastWindow() const {
    auto values = elements.getValues<bool>();
    int64_t window = 0;
    while (window < keys && values[queries * keys - 1 - window])
      ++window;
    return window;
  }

  /// The first query and key at which this is not the causal mask with a window
  /// of so many keys. The mask is countable.
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
  if (!elements.isSplat() && !mask.isCountable())
    return refuse(attention, "it has more elements than can be counted");
  if (mask.isEmpty() || mask.hidesNothing()) {
    attention.getMaskMutable().clear();
    return success();
  }
  if (mask.queries != mask.keys)
    return refuse(attention, "it is of " + Twine(mask.queries) +
                                 " queries and " + Twine(mask.keys) + " keys");
  if (elements.isSplat())
    return refuse(attention, "query 0 and key 0 depart from it");
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
