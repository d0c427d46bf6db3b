//===- PropertyMain.cpp - Which cases are drawn ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   CPPropertyTests [--seed=FIRST] [--cases=N] [--print]
//
// Case i has seed FIRST + i, and a failure prints it: --seed=S --cases=1 makes
// the same case again, --print shows its model.
//
//===----------------------------------------------------------------------===//

#include "PropertyPlan.h"

#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

#include <iostream>

namespace cp::test {

static PropertyPlan thePlan;
const PropertyPlan &plan() { return thePlan; }

} // namespace cp::test

namespace {

/// Reads "--name=number" into `value`.
bool readNumber(llvm::StringRef argument, llvm::StringRef name,
                uint64_t &value) {
  return argument.consume_front(name) && !argument.getAsInteger(10, value);
}

} // namespace

int main(int argc, char **argv) {
  cp::test::PropertyPlan &plan = cp::test::thePlan;
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--print") {
      plan.print = true;
      continue;
    }
    if (!readNumber(argument, "--seed=", plan.seed) &&
        !readNumber(argument, "--cases=", plan.cases)) {
      std::cerr << "unknown argument '" << argv[i]
                << "'; give --seed=FIRST, --cases=N or --print\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
