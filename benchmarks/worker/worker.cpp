//===- worker.cpp - Answers what the benchmarks ask -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Reads questions from standard input, one a line: a row's name and its
// settings, such as "ssd dtype=bf16 heads=128 length=2048 threads=2". Answers
// each by one line: a number in %.9g, or "error: " and why there is none. What
// a number means stands in Rows.h. Buffers and compiled programs of the last
// questions are kept, so that a question that comes again finds all ready. The
// peers' side, peers/worker.py, speaks the same language.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdio>
#include <iostream>

using namespace cp::bench;

static llvm::Expected<double> answer(const RowTable &rows,
                                     const std::string &line) {
  llvm::Expected<Question> question = Question::parse(line);
  if (!question)
    return question.takeError();
  auto row = rows.find(question->row());
  if (row != rows.end())
    return row->second(*question);
  return llvm::createStringError(
      "there is no row '" + question->row() +
      "'; there are: " + llvm::join(llvm::make_first_range(rows), ", "));
}

int main() {
  mlir::DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  mlir::MLIRContext context(registry);
  RowTable rows;
  addPeakRows(rows);
  addKernelRows(rows);
  addExchangeRows(rows);
  addProgramRows(rows, context);
  for (std::string line; std::getline(std::cin, line);) {
    if (llvm::Expected<double> number = answer(rows, line))
      std::printf("%.9g\n", *number);
    else
      std::printf("error: %s\n", llvm::toString(number.takeError()).c_str());
    std::fflush(stdout);
  }
  return 0;
}
