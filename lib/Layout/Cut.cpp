//===- Cut.cpp - How one axis cuts a dimension ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Cut.h"

#include "cp/Layout/Saturating.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

using namespace cp;

const char *cp::orderName(Order order) {
  switch (order) {
  case Order::Zigzag:
    return "zigzag";
  case Order::Striped:
    return "striped";
  case Order::ZigzagPerDocument:
    return "zigzag_per_document";
  case Order::Sizes:
    return "sizes";
  case Order::ContiguousPerDocument:
    return "contiguous_per_document";
  case Order::Contiguous:
    break;
  }
  return "contiguous";
}

std::optional<Order> cp::orderNamed(const std::string &name) {
  for (Order order : allOrders)
    if (name == orderName(order))
      return order;
  return std::nullopt;
}

bool cp::operator==(const Cut &a, const Cut &b) {
  return a.axis == b.axis && a.order == b.order && a.unit == b.unit &&
         a.sizes == b.sizes;
}

bool cp::unitPlaces(const Cut &cut) { return cut.order == Order::Striped; }

Cut cp::placesOnly(Cut cut) {
  if (!unitPlaces(cut))
    cut.unit = 1;
  return cut;
}

bool cp::samePlaces(const Cut &a, const Cut &b) {
  return placesOnly(a) == placesOnly(b);
}

/// "0 (contiguous), 1 (zigzag), ... or 5 (contiguous_per_document)"
static std::string allOrdersText() {
  std::string text;
  for (Order order : allOrders) {
    if (order == *std::prev(std::end(allOrders)))
      text += " or ";
    else if (!text.empty())
      text += ", ";
    text += std::to_string(int64_t(order)) + " (" + orderName(order) + ")";
  }
  return text;
}

/// Of the order of sizes and of others, what their sizes must be.
static std::optional<std::string> checkSizes(const Cut &cut,
                                             const std::string &place) {
  std::string begin = "layout_c9: " + place + ": expected ";
  if (cut.order != Order::Sizes) {
    if (cut.sizes.empty())
      return std::nullopt;
    return begin + "no sizes in the order " + orderName(cut.order) + ", got " +
           std::to_string(cut.sizes.size()) +
           "; leave them out, or use the order sizes";
  }
  if (cut.sizes.empty())
    return begin + "a size for each rank on the axis, got none; list them as "
                   "in sizes [4, 0, 7]";
  if (cut.unit != 1)
    return begin + "no unit beside sizes, got " + std::to_string(cut.unit) +
           "; leave it out";
  for (int64_t size : cut.sizes)
    if (size < 0)
      return begin + "sizes of at least 0, got " + std::to_string(size) +
             "; a rank that holds nothing has a size of 0";
  // As many rooms of the largest are what collectives move.
  int64_t largest = largestSize(cut);
  if (multiplySaturating(largest, int64_t(cut.sizes.size())) ==
      std::numeric_limits<int64_t>::max())
    return begin +
           "sizes of which so many of the largest are below 2^63 - 1, "
           "got " +
           std::to_string(cut.sizes.size()) + " with one of " +
           std::to_string(largest) + "; list those of the dimension";
  return std::nullopt;
}

std::optional<std::string> cp::check(const Cut &cut, const std::string &place) {
  if (cut.unit < 1)
    return "layout_c3: " + place + ": expected a unit of at least 1, got " +
           std::to_string(cut.unit) + "; leave it out to cut anywhere";
  // The runtime's word for an order holds the unit and the order.
  constexpr int64_t most = std::numeric_limits<int64_t>::max() - 1;
  if (cut.unit > most)
    return "layout_c3: " + place + ": expected a unit of at most " +
           std::to_string(most) + ", got " + std::to_string(cut.unit);
  if (isPerDocument(cut) && cut.unit != 1)
    return "layout_c8: " + place + ": expected no unit in the order " +
           orderName(cut.order) + ", which cuts documents anywhere, got " +
           std::to_string(cut.unit) + "; leave it out, or use zigzag";
  for (Order order : allOrders)
    if (cut.order == order)
      return checkSizes(cut, place);
  return "layout_c7: " + place + ": expected the order " + allOrdersText() +
         ", got " + std::to_string(int64_t(cut.order)) + "; use one of these";
}

Cut cp::remainderFirst(int axis, int64_t ranks, int64_t size) {
  Cut cut = {axis, Order::Sizes, 1, {}};
  for (int64_t position = 0; position < ranks; ++position)
    cut.sizes.push_back(size / ranks + (position < size % ranks ? 1 : 0));
  return cut;
}

int64_t cp::sumOfSizes(const Cut &cut) {
  int64_t sum = 0;
  for (int64_t size : cut.sizes)
    sum = addSaturating(sum, size);
  return sum;
}

int64_t cp::largestSize(const Cut &cut) {
  return *std::max_element(cut.sizes.begin(), cut.sizes.end());
}

std::string cp::orderText(const Cut &cut) {
  std::string text = orderName(cut.order);
  for (size_t i = 0; i < cut.sizes.size(); ++i)
    text += (i == 0 ? " [" : ", ") + std::to_string(cut.sizes[i]);
  if (!cut.sizes.empty())
    text += "]";
  if (unitPlaces(cut) && cut.unit != 1)
    text += ":" + std::to_string(cut.unit);
  return text;
}

std::optional<Cut> cp::parseOrder(const std::string &text) {
  size_t colon = text.find(':');
  std::optional<Order> order = orderNamed(text.substr(0, colon));
  if (!order || *order == Order::Sizes)
    return std::nullopt;
  Cut cut{0, *order};
  if (colon == std::string::npos)
    return cut;
  const char *end = text.data() + text.size();
  auto [read, error] =
      std::from_chars(text.data() + colon + 1, end, cut.unit, 10);
  if (error != std::errc() || read != end || !unitPlaces(cut) ||
      check(cut, "an order"))
    return std::nullopt;
  return cut;
}

/// The orders behind the striped one, whose words have its unit, are counted
/// the other way: -1, -2, ...
static constexpr auto firstBehind = int64_t(Order::ZigzagPerDocument);
static constexpr int64_t leastWord = firstBehind - std::size(allOrders);

int64_t cp::orderWord(const Cut &cut) {
  auto order = int64_t(cut.order);
  if (order >= firstBehind)
    return firstBehind - 1 - order;
  return unitPlaces(cut) ? order + (cut.unit - 1) : order;
}

Cut cp::cutOfWord(int64_t word, int axis) {
  if (word >= leastWord && word < 0)
    return {axis, Order(firstBehind - 1 - word), 1};
  if (word < int64_t(Order::Striped))
    return {axis, Order(word), 1};
  return {axis, Order::Striped, word - int64_t(Order::Striped) + 1};
}
