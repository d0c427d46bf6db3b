//===- PropertyPlan.h - Which cases are drawn -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_PROPERTY_PROPERTYPLAN_H
#define CP_UNITTESTS_PROPERTY_PROPERTYPLAN_H

#include <cstdint>

namespace cp::test {

/// Case i has seed `seed` + i.
struct PropertyPlan {
  uint64_t seed = 1;
  uint64_t cases = 200;
  bool print = false;
};

/// As the command line says.
const PropertyPlan &plan();

} // namespace cp::test

#endif // CP_UNITTESTS_PROPERTY_PROPERTYPLAN_H
