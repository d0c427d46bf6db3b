//===- NewSignature.cpp - Arguments and results a pass adds -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NewSignature.h"

using namespace mlir;

namespace cp {

unsigned NewArguments::add(Type type, const Twine &name, StringRef attribute,
                           Attribute value) {
  Builder builder(function.getContext());
  NamedAttrList list;
  list.append(nameAttr, builder.getStringAttr(name));
  if (value)
    list.append(attribute, value);
  types.push_back(type);
  attributes.push_back(list.getDictionary(builder.getContext()));
  return first + types.size() - 1;
}

LogicalResult NewArguments::insert() {
  SmallVector<Location> locs(types.size(), function.getLoc());
  return function.insertArguments(SmallVector<unsigned>(types.size(), first),
                                  types, attributes, locs);
}

void NewResults::keep(unsigned result, Value value) {
  values.push_back(value);
  attributes.push_back(function.getResultAttrDict(result));
}

void NewResults::add(Value value, StringRef attribute, Attribute of) {
  NamedAttribute entry(attribute, of);
  values.push_back(value);
  attributes.push_back(DictionaryAttr::get(function.getContext(), entry));
}

void NewResults::set() {
  auto *end = function.getFunctionBody().front().getTerminator();
  end->setOperands(values);
  function.setType(function.cloneTypeWith(function.getArgumentTypes(),
                                          TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attributes);
}

} // namespace cp
