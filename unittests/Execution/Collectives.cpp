//===- Collectives.cpp - One local program per collective -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include <cstddef>

namespace cp::test {
namespace {

constexpr size_t ranks = 4, rows = 8, columns = 8, localRows = rows / ranks;

/// A function that returns `op` of %x (and %d), whose result of local type
/// `type` has the layout `cuts`.
std::string program(const std::string &op, const std::string &result,
                    const std::string &type, const std::string &cuts) {
  return R"(#mesh = #cp.mesh<"cp" = 4>
func.func @main(
    %d: tensor<2xf32> {cp.layout = #cp.layout<#mesh, [{"cp"}]>},
    %x: tensor<2x8xf32> {cp.layout = #cp.layout<#mesh, [{"cp"}, {}]>})
    -> (tensor<)" +
         type + "> {cp.layout = #cp.layout<#mesh, " + cuts +
         ">}) attributes {cp.view = \"local\"} {\n  " + op + "\n  return " +
         result + " : tensor<" + type + ">\n}\n";
}

Values same(const Values &, const Values &x) { return x; }

/// Rows of zeros, then all but the last `count` rows.
Values shiftedRows(const Values &x, size_t count) {
  Values out(x.size());
  for (size_t i = count * columns; i < x.size(); ++i)
    out[i] = x[i - count * columns];
  return out;
}

/// Every rank holds all of x.
Values gathered(const Values &, const Values &x) {
  Values out;
  for (size_t rank = 0; rank < ranks; ++rank)
    out.insert(out.end(), x.begin(), x.end());
  return out;
}

Values summed(const Values &, const Values &x) {
  Values out(localRows * columns);
  for (size_t i = 0; i < x.size(); ++i)
    out[i % out.size()] += x[i];
  return out;
}

/// Every rank holds the sum.
Values summedEverywhere(const Values &d, const Values &x) {
  return gathered(d, summed(d, x));
}

/// The last row of the part before each rank's.
Values rowsBefore(const Values &, const Values &x) {
  Values out(ranks * columns);
  for (size_t rank = 1; rank < ranks; ++rank)
    for (size_t i = 0; i < columns; ++i)
      out[rank * columns + i] = x[(rank * localRows - 1) * columns + i];
  return out;
}

/// State that comes in: S = d S + x over the ranks before, elementwise.
Values scanned(const Values &d, const Values &x) {
  Values out(x.size()), state(localRows * columns);
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < state.size(); ++i) {
      size_t place = rank * state.size() + i;
      out[place] = state[i];
      state[i] = d[place / columns] * state[i] + x[place];
    }
  return out;
}

/// The row that holds part `part` of the sequence, in zigzag order with a part
/// of one row.
size_t rowOfPart(size_t part) {
  return part < ranks ? part * localRows
                      : (2 * ranks - 1 - part) * localRows + 1;
}

/// The same as rowsBefore and scanned, part by part; row n belongs to part n.
Values partsBefore(const Values &, const Values &x) {
  Values out(2 * ranks * columns);
  for (size_t part = 1; part < 2 * ranks; ++part)
    for (size_t i = 0; i < columns; ++i)
      out[part * columns + i] = x[rowOfPart(part - 1) * columns + i];
  return out;
}
Values scannedParts(const Values &d, const Values &x) {
  Values out(2 * ranks * columns), state(columns);
  for (size_t part = 0; part < 2 * ranks; ++part)
    for (size_t i = 0; i < columns; ++i) {
      size_t row = rowOfPart(part);
      out[part * columns + i] = state[i];
      state[i] = d[row] * state[i] + x[row * columns + i];
    }
  return out;
}

std::vector<Collective> make() {
  auto overCut = [](const std::string &order) {
    return R"( over ["cp")" + order + "] of #mesh ";
  };
  const std::string over = overCut(""), overZigzag = overCut(" zigzag");
  const std::string local = " : tensor<2x8xf32>";
  auto scan = [&](const std::string &algorithm) {
    return program("%pd, %r = cp.scan_state %d, %x" + over +
                       "{algorithm = #cp.scan_algorithm<" + algorithm +
                       ">} : tensor<2xf32>, tensor<2x8xf32>",
                   "%r", "2x8xf32", R"([{"cp"}, {}])");
  };
  auto reordered = [](const std::string &order) {
    return R"( from ["cp"] to ["cp")" + order + "] of #mesh {dim = 0}";
  };
  auto shift = [&](const std::string &offset) {
    return program("%r = cp.shift %x" + over + "{offset = " + offset + "}" +
                       local,
                   "%r", "2x8xf32", R"([{"cp"}, {}])");
  };
  return {
      {"shift", shift("1"),
       [](const Values &, const Values &x) { return shiftedRows(x, 2); },
       "shift"},
      {"shift_two", shift("2"),
       [](const Values &, const Values &x) { return shiftedRows(x, 4); },
       "shift"},
      {"all_gather",
       program("%r = cp.all_gather %x" + over + "{dim = 0}" + local +
                   " -> tensor<8x8xf32>",
               "%r", "8x8xf32", R"([{"cp"}, {}])"),
       gathered, "all_gather"},
      {"all_reduce",
       program("%r = cp.all_reduce %x" + over + local, "%r", "2x8xf32",
               R"([{"cp"}, {}])"),
       summedEverywhere, "all_reduce"},
      {"reduce_scatter",
       program("%r = cp.reduce_scatter %x" + over + "{dim = 1}" + local +
                   " -> tensor<2x2xf32>",
               "%r", "2x2xf32", R"([{}, {"cp"}])"),
       summed, "reduce_scatter"},
      {"reduce_scatter_zigzag",
       program("%r = cp.reduce_scatter %x" + overZigzag + "{dim = 1}" + local +
                   " -> tensor<2x2xf32>",
               "%r", "2x2xf32", R"([{}, {"cp" zigzag}])"),
       summed, "reduce_scatter"},
      {"slice_zigzag",
       program("%w = cp.all_gather %x" + over + "{dim = 0}" + local +
                   " -> tensor<8x8xf32>\n  %r = cp.slice %w" + overZigzag +
                   "{dim = 1} : tensor<8x8xf32> -> tensor<8x2xf32>",
               "%r", "8x2xf32", R"([{}, {"cp" zigzag}])"),
       same, "all_gather"},
      {"reorder",
       program("%r = cp.reorder %x" + reordered(" zigzag") + local, "%r",
               "2x8xf32", R"([{"cp" zigzag}, {}])"),
       same, "reorder"},
      {"all_to_all",
       program("%r = cp.all_to_all %x" + over +
                   "{concat_dims = array<i64: 0>, split_dims = array<i64: 1>}"
                   " : (tensor<2x8xf32>) -> tensor<8x2xf32>",
               "%r", "8x2xf32", R"([{}, {"cp"}])"),
       same, "all_to_all"},
      {"halo",
       program("%r = cp.halo %x" + over + "{dim = 0, before = 1}" +
                   " : (tensor<2x8xf32>) -> tensor<1x8xf32>",
               "%r", "1x8xf32", R"([{"cp"}, {}])"),
       rowsBefore, "halo"},
      {"halo_zigzag",
       program("%r = cp.halo %x" + overZigzag + "{dim = 0, before = 1}" +
                   " : (tensor<2x8xf32>) -> tensor<2x8xf32>",
               "%r", "2x8xf32", R"([{"cp" zigzag}, {}])"),
       partsBefore, "halo"},
      {"scan_zigzag",
       program("%pd, %r = cp.scan_state %d, %x" + overZigzag +
                   ": tensor<2xf32>, tensor<2x8xf32>",
               "%r", "2x8xf32", R"([{"cp" zigzag}, {}])"),
       scannedParts, "scan_state"},
      {"reorder_striped",
       program("%r = cp.reorder %x" + reordered(" striped") + local, "%r",
               "2x8xf32", R"([{"cp" striped}, {}])"),
       same, "reorder"},
      {"all_to_all_striped",
       program("%r = cp.all_to_all %x" + over +
                   "{concat_dims = array<i64: 0>, split_dims = array<i64: 1>,"
                   " split_cuts = [#cp.cut<\"cp\" striped : 2>]}"
                   " : (tensor<2x8xf32>) -> tensor<8x2xf32>",
               "%r", "8x2xf32", R"([{}, {"cp" striped : 2}])"),
       same, "all_to_all"},
      {"all_to_all_stripes_of_one",
       program("%r = cp.all_to_all %x" + over +
                   "{concat_dims = array<i64: 0>, split_dims = array<i64: 1>,"
                   " split_cuts = [#cp.cut<\"cp\" striped>]}"
                   " : (tensor<2x8xf32>) -> tensor<8x2xf32>",
               "%r", "8x2xf32", R"([{}, {"cp" striped}])"),
       same, "all_to_all"},
      {"reduce_scatter_striped",
       program("%r = cp.reduce_scatter %x" + overCut(" striped") + "{dim = 1}" +
                   local + " -> tensor<2x2xf32>",
               "%r", "2x2xf32", R"([{}, {"cp" striped}])"),
       summed, "reduce_scatter"},
      {"scan_chain", scan("chain"), scanned, "scan_state"},
      {"scan_gather", scan("gather"), scanned, "scan_state"},
      {"scan_doubling", scan("doubling"), scanned, "scan_state"},
      {"scan_pipelined", scan("pipelined"), scanned, "scan_state"},
      {"scan_transposed", scan("transposed"), scanned, "scan_state"},
  };
}

} // namespace

const std::vector<Collective> &collectives() {
  static const std::vector<Collective> all = make();
  return all;
}

} // namespace cp::test
