//===- InitAttr.cpp - How to draw a tensor, as an attribute -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Frontend/InitAttr.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace cp {
namespace {

using Kind = InitSpec::Kind;

/// A kind of drawing, its name in the IR, and the numbers that it takes.
struct KindInfo {
  Kind kind;
  StringRef name;
  ArrayRef<StringRef> numbers;
  /// Of `count`; empty for a kind that takes none.
  StringRef count = "";
};

constexpr StringRef scaleOnly[] = {"scale"};
constexpr StringRef range[] = {"low", "high"};
constexpr StringRef rangeAndFloor[] = {"low", "high", "floor"};

const KindInfo kinds[] = {
    {Kind::Zeros, "zeros", {}},
    {Kind::Ones, "ones", {}},
    {Kind::Normal, "normal", scaleOnly},
    {Kind::Uniform, "uniform", scaleOnly},
    {Kind::LogArange, "log_arange", {}},
    {Kind::LogUniform, "log_uniform", range},
    {Kind::DtBias, "dt_bias", rangeAndFloor},
    {Kind::Ids, "ids", {}, "below"},
    {Kind::Documents, "documents", {}, "length"},
};

double &number(InitSpec &init, StringRef name) {
  if (name == "scale")
    return init.scale;
  if (name == "low")
    return init.low;
  return name == "high" ? init.high : init.floor;
}

} // namespace

DictionaryAttr toAttr(MLIRContext *context, const InitSpec &init) {
  Builder builder(context);
  NamedAttrList list;
  InitSpec copy = init;
  for (const KindInfo &info : kinds) {
    if (info.kind != init.kind)
      continue;
    list.set("kind", builder.getStringAttr(info.name));
    for (StringRef name : info.numbers)
      list.set(name, builder.getF64FloatAttr(number(copy, name)));
    if (!info.count.empty())
      list.set(info.count, builder.getI64IntegerAttr(init.count));
  }
  return list.getDictionary(context);
}

InitSpec fromAttr(DictionaryAttr attribute) {
  constexpr InitSpec unknown = {Kind::Unknown, 0, 0, 0, 0, 0};
  auto name = attribute.getAs<StringAttr>("kind");
  for (const KindInfo &info : kinds) {
    if (!name || name.getValue() != info.name)
      continue;
    InitSpec init;
    init.kind = info.kind;
    for (StringRef field : info.numbers) {
      auto value = attribute.getAs<FloatAttr>(field);
      if (!value)
        return unknown;
      number(init, field) = value.getValueAsDouble();
    }
    if (info.count.empty())
      return init;
    auto count = attribute.getAs<IntegerAttr>(info.count);
    init.count = count ? count.getInt() : 0;
    return count ? init : unknown;
  }
  return unknown;
}

} // namespace cp
