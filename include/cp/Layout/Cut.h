//===- Cut.h - How one axis cuts a dimension --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cut is an axis, an order and a unit. Its forms are here: the keywords of
// the IR, the texts of options and the words of the runtime's descriptors. What
// an order means is said by Runs.h, and for packed documents by Documents.h.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_CUT_H
#define CP_LAYOUT_CUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Which elements of a dimension position r on an axis of size R holds.
///   Contiguous  block r of R
///   Zigzag      blocks r and 2R-1-r of 2R
///   Striped     runs r, r+R, r+2R, ... of `unit` elements
///   ZigzagPerDocument  blocks r and 2R-1-r of 2R of each document of a packed
///                      row: known with the documents only (Documents.h)
///   Sizes       block r of R blocks of the sizes that the cut lists; behind
///               cuts over other axes R counts the ranks on all of them
///   ContiguousPerDocument  block r of R of each document of a packed row
enum class Order : int64_t {
  Contiguous = 0,
  Zigzag = 1,
  Striped = 2,
  ZigzagPerDocument = 3,
  Sizes = 4,
  ContiguousPerDocument = 5
};
inline constexpr Order allOrders[] = {
    Order::Contiguous,        Order::Zigzag, Order::Striped,
    Order::ZigzagPerDocument, Order::Sizes,  Order::ContiguousPerDocument};

/// The keyword used in the IR.
///   Contiguous  "contiguous"
///   Zigzag      "zigzag"
///   Striped     "striped"
///   ZigzagPerDocument  "zigzag_per_document"
///   Sizes              "sizes"
///   ContiguousPerDocument  "contiguous_per_document"
const char *orderName(Order order);
/// Its inverse; nothing for another text.
std::optional<Order> orderNamed(const std::string &name);

/// One axis that cuts a dimension. A block never divides a run of `unit`
/// elements: a head of 64 channels is cut as a whole. In the striped order the
/// unit also says where elements are.
struct Cut {
  int axis = 0;
  Order order = Order::Contiguous;
  int64_t unit = 1;
  /// In the order of sizes how many elements each position on the axis, or on
  /// all axes that cut the dimension, major to minor, holds; empty in all
  /// others.
  std::vector<int64_t> sizes = {};
};
bool operator==(const Cut &a, const Cut &b);

/// Whether the unit says where elements are, not only what is never divided.
///   contiguous : 2  no
///   zigzag : 2      no
///   striped : 2     yes
bool unitPlaces(const Cut &cut);
/// The cut with a unit of 1 where that says nothing of where elements are.
///   contiguous : 2  contiguous
///   zigzag : 2      zigzag
///   striped : 2     striped : 2
Cut placesOnly(Cut cut);
/// Whether where elements are depends on the documents of a packed row.
inline bool isPerDocument(const Cut &cut) {
  return cut.order == Order::ZigzagPerDocument ||
         cut.order == Order::ContiguousPerDocument;
}
/// Whether the cut lists how much each rank holds.
inline bool isBySizes(const Cut &cut) { return cut.order == Order::Sizes; }
/// The same of the cuts of a dimension, of which the last then lists sizes for
/// the ranks on all of their axes together.
inline bool isBySizes(const std::vector<Cut> &cuts) {
  return !cuts.empty() && isBySizes(cuts.back());
}
/// Whether both put every element at the same place.
///   axis, order, unit         and             same
///   a, contiguous, 1          a, contiguous, 2  yes
///   a, zigzag, 1              a, zigzag, 2      yes
///   a, striped, 1             a, striped, 2     no
///   a, contiguous, 1          b, contiguous, 1  no
bool samePlaces(const Cut &a, const Cut &b);

/// Nothing when the cut makes sense on any axis, else what is wrong; `place`
/// says whose it is.
///   layout_c3  a unit below 1, or of 2^63 - 1
///   layout_c7  an order that is none of the enumeration
///   layout_c8  a unit other than 1 of an order per document
///   layout_c9  no size, one below 0, one that 64 bits do not hold as often as
///              there are sizes, or a unit other than 1 in the order of sizes;
///              sizes in another
std::optional<std::string> check(const Cut &cut, const std::string &place);

/// The cut by which each of so many ranks holds as many elements as any other,
/// or the first ones one more: what does not divide goes to them.
///   10 on 3 ranks  sizes [4, 3, 3]
///   2 on 3 ranks   sizes [1, 1, 0]
Cut remainderFirst(int axis, int64_t ranks, int64_t size);
/// The sum of its sizes; the largest int64_t where that does not fit.
///   sizes [4, 0, 7]  11
int64_t sumOfSizes(const Cut &cut);
/// The largest of its sizes, for which each rank has room.
///   sizes [4, 0, 7]  7
int64_t largestSize(const Cut &cut);

/// The order as options have it, with a unit that says where elements are.
///   contiguous : 2  "contiguous"
///   sizes [4, 7]    "sizes [4, 7]"
///   striped         "striped"
///   striped : 2     "striped:2"
std::string orderText(const Cut &cut);
/// Its inverse, of axis 0; nothing for other texts, and those with sizes.
///   "striped:2"   striped : 2
///   "zigzag:2"    nothing
///   "sizes [4, 7]"  nothing: no option has them
///   "striped:0"   nothing
std::optional<Cut> parseOrder(const std::string &text);

/// The order as one word of a call's attributes (see cprt.h) or of a program's
/// table (cprt_program.h), which has sizes beside it. Calls have no sizes: to
/// them a part is as large as what it has room for.
///   contiguous : 2  0
///   zigzag          1
///   striped         2
///   striped : 2     3
///   zigzag_per_document  -1
///   sizes [4, 0, 7]      -2
///   contiguous_per_document  -3
int64_t orderWord(const Cut &cut);
/// Its inverse, without sizes; of words below -3 an order that check() refuses.
Cut cutOfWord(int64_t word, int axis = 0);

} // namespace cp

#endif // CP_LAYOUT_CUT_H
