//===- ModelText.h - A function, written op by op ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_PROPERTY_MODELTEXT_H
#define CP_UNITTESTS_PROPERTY_MODELTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cp::test {

using Sizes = std::vector<int64_t>;

/// The text of a function of tokens, with the ops that layers are made of.
/// Values are named by numbers, weights by their kind.
class ModelText {
public:
  explicit ModelText(std::string dtype) : dtype(std::move(dtype)) {}

  /// Whether rows hold several documents.
  bool isPacked() const { return !documents.empty(); }

protected:
  std::string type(const Sizes &shape) const {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + dtype + ">";
  }
  std::string residual() const { return type({batch, length, width}); }
  std::string tokens(int64_t channels) const {
    return type({batch, length, channels});
  }
  std::string fresh() { return "%v" + std::to_string(values++); }

  std::string placesType() const {
    return llvm::formatv("tensor<{0}{1}xi64>",
                         isPacked() ? llvm::formatv("{0}x", batch).str() : "",
                         length);
  }
  /// Of tokens in their documents, or in the row.
  std::string places() {
    return emit("cp.positions {0}: {1}",
                isPacked() ? "documents(%cu : " + documents + ") " : "",
                placesType());
  }

  /// A weight, drawn by the kind that its name starts with.
  std::string weight(llvm::StringRef kind, const Sizes &shape,
                     const std::string &layout = "") {
    std::string name = llvm::formatv("{0}.{1}", kind, weights++);
    std::string value = "%w" + std::to_string(weights - 1);
    std::string whole = type(shape);
    whole.insert(whole.size() - 1, layout);
    arguments +=
        llvm::formatv(", {0}: {1} {{cp.param = \"{2}\"}", value, whole, name);
    return value;
  }

  template <typename... Ts> std::string emit(const char *format, Ts... parts) {
    std::string name = fresh();
    body += "  " + name + " = " + std::string(llvm::formatv(format, parts...)) +
            "\n";
    return name;
  }

  std::string add(const std::string &a, const std::string &b,
                  const std::string &t) {
    return emit("arith.addf {0}, {1} : {2}", a, b, t);
  }

  std::string normed(const std::string &x) {
    return emit("cp.rms_norm {0} weight({1}) : ({2}, {3}) -> {2}", x,
                weight("norm", {width}), residual(), type({width}));
  }

  std::string split(const std::string &x, int64_t major, int64_t minor) {
    return emit("tensor.expand_shape {0} [[0], [1], [2, 3]] output_shape [{1}, "
                "{2}, {3}, {4}] : {5} into {6}",
                x, batch, length, major, minor, tokens(major * minor),
                type({batch, length, major, minor}));
  }
  std::string merge(const std::string &x, int64_t major, int64_t minor) {
    return emit("tensor.collapse_shape {0} [[0], [1], [2, 3]] : {1} into {2}",
                x, type({batch, length, major, minor}), tokens(major * minor));
  }

  /// Each element of the batch a sum of all.
  std::string mixed(const std::string &x) {
    std::string w = weight("matrix", {batch, batch});
    return emit("linalg.contract indexing_maps = "
                "[affine_map<(b, c, l, k) -> (c, l, k)>, "
                "affine_map<(b, c, l, k) -> (b, c)>, "
                "affine_map<(b, c, l, k) -> (b, l, k)>] ins({0}, {1} : {2}, "
                "{3}) outs({4} : {2}) -> {2}",
                x, w, residual(), type({batch, batch}), zeros(width));
  }
  /// A row for all elements of the batch.
  std::string addTable(const std::string &x) {
    std::string table = weight("state", {length, width});
    std::string empty = emit("tensor.empty() : {0}", residual());
    std::string all = fresh();
    body +=
        llvm::formatv("  {0} = linalg.broadcast ins({1} : {2}) outs({3} : {4}) "
                      "dimensions = [0]\n",
                      all, table, type({length, width}), empty, residual());
    return add(x, all, residual());
  }

  std::string zeros(int64_t channels) {
    std::string zero = emit("arith.constant 0.0 : {0}", dtype);
    std::string empty = emit("tensor.empty() : {0}", tokens(channels));
    return emit("linalg.fill ins({0} : {1}) outs({2} : {3}) -> {3}", zero,
                dtype, empty, tokens(channels));
  }

  /// x w^T over the last dimension.
  std::string project(const std::string &x, int64_t in, int64_t out,
                      const char *parallel, llvm::StringRef kind = "matrix") {
    return projectOnto(zeros(out), x, in, out, parallel, kind);
  }

  /// start + x w^T.
  std::string projectOnto(const std::string &start, const std::string &x,
                          int64_t in, int64_t out, const char *parallel,
                          llvm::StringRef kind = "matrix") {
    std::string w = weight(kind, {out, in});
    return emit("linalg.contract indexing_maps = "
                "[affine_map<(b, l, n, k) -> (b, l, k)>, "
                "affine_map<(b, l, n, k) -> (n, k)>, "
                "affine_map<(b, l, n, k) -> (b, l, n)>] {{cp.parallel = "
                "\"{0}\"} ins({1}, {2} : {3}, {4}) outs({5} : {6}) -> {6}",
                parallel, x, w, tokens(in), type({out, in}), start,
                tokens(out));
  }

  std::string dtype, arguments, body, results, resultTypes;
  /// Their type; empty where rows are one each.
  std::string documents;
  int64_t batch = 0, length = 0, width = 0, values = 0, weights = 0;
};

} // namespace cp::test

#endif // CP_UNITTESTS_PROPERTY_MODELTEXT_H
