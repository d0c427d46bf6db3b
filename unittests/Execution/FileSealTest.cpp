//===- FileSealTest.cpp - What tells that a file is whole -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/FileSeal.h"
#include "cp/Execution/Processor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "gmock/gmock.h"

using namespace cp;
using testing::HasSubstr;

TEST(FileSeal, TellsEveryBitThatIsNotAsItWas) {
  std::string bytes = "the bytes of a program";
  std::string file = bytes + sealOf(bytes);
  EXPECT_EQ(file.size(), bytes.size() + sealBytes);
  EXPECT_TRUE(isSealed(file));
  for (char &byte : file)
    for (int bit = 0; bit < 8; ++bit) {
      byte = char(byte ^ 1 << bit);
      EXPECT_FALSE(isSealed(file));
      byte = char(byte ^ 1 << bit);
    }
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(isSealed(llvm::StringRef(file).take_front(length)));
  EXPECT_FALSE(isSealed(file + "x"));
  EXPECT_FALSE(isSealed(sealOf("")));
}

TEST(Processor, HasWhatItHas) {
  std::vector<std::string> own;
  for (const std::string &feature : knownFeatures())
    if (llvm::sys::getHostCPUFeatures().lookup(feature))
      own.push_back(feature);
  EXPECT_FALSE(bool(checkProcessor("this one", llvm::join(own, ","))));
  EXPECT_FALSE(bool(checkProcessor("any", "")));
  EXPECT_FALSE(bool(checkProcessor("of another kind", "thumb,altivec")));
}

TEST(Processor, LacksWhatItLacks) {
  std::vector<std::string> missing;
  for (const std::string &feature : knownFeatures())
    if (!llvm::sys::getHostCPUFeatures().lookup(feature))
      missing.push_back(feature);
  if (missing.size() < 6)
    GTEST_SKIP() << "this processor has nearly all that LLVM knows";
  llvm::Error error = checkProcessor("best", llvm::join(missing, ","));
  ASSERT_TRUE(bool(error));
  std::string text = llvm::toString(std::move(error));
  EXPECT_THAT(text, HasSubstr("is for a processor 'best', and this one ("));
  EXPECT_THAT(text, HasSubstr("lacks its " + missing[0] + ", " + missing[1]));
  EXPECT_THAT(text, HasSubstr(missing[4] + " and " +
                              std::to_string(missing.size() - 5) + " more;"));
}
