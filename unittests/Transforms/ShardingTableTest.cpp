//===- ShardingTableTest.cpp - Upstream's ops, served or refused ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/IR/ShardingAdvice.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace cp;

namespace {

/// Calls check(name) for each op of these dialects.
template <typename CheckFn>
void forEachOp(llvm::ArrayRef<StringRef> dialects, CheckFn check) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  size_t seen = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (llvm::is_contained(dialects, name.getDialectNamespace())) {
      ++seen;
      check(name);
    }
  EXPECT_GT(seen, 90u);
}

/// Ops of the bodies of others, which no pass asks for a rule.
bool isOfBody(RegisteredOperationName name) {
  return llvm::is_contained({"linalg.index", "linalg.yield", "tensor.yield"},
                            name.getStringRef());
}

/// An op that upstream adds is neither, and fails here: give it a rule, or a
/// row in ShardingAdvice.cpp.
TEST(ShardingTableTest, EachUpstreamOpIsServedOrRefusedByName) {
  forEachOp({"arith", "math", "tensor", "linalg"},
            [](RegisteredOperationName name) {
              if (isOfBody(name))
                return;
              bool isServed = name.hasInterface<ShardingRuleOpInterface>();
              bool isRefused = !shardingAdvice(name.getStringRef()).empty();
              EXPECT_NE(isServed, isRefused) << name.getStringRef().str();
            });
}

/// test/Integration/elementwise.test runs what this script prints.
TEST(ShardingTableTest, EachElementwiseOpIsRun) {
  auto script = llvm::MemoryBuffer::getFile(
      CP_SOURCE_DIR "/test/Integration/Inputs/elementwise.py");
  ASSERT_TRUE(bool(script));
  std::string words = (*script)->getBuffer().str();
  for (char &c : words)
    if (!llvm::isAlnum(c) && c != '.' && c != '_')
      c = ' ';
  forEachOp({"arith", "math"}, [&](RegisteredOperationName name) {
    std::string word = " " + name.getStringRef().str() + " ";
    if (name.hasInterface<ShardingRuleOpInterface>()) {
      EXPECT_NE(words.find(word), std::string::npos) << word;
    }
  });
}

} // namespace
