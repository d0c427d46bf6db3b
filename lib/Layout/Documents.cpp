//===- Documents.cpp - Elements of packed documents -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Documents.h"

#include "AppendRun.h"

#include <algorithm>

using namespace cp;

/// How many elements of a document do not make 2 R blocks.
static int64_t restOf(const Documents &documents, int64_t i, int64_t ranks) {
  return (documents.at(i + 1) - documents.at(i)) % (2 * ranks);
}

void cp::appendRuns(const Documents &documents, int64_t ranks, int64_t position,
                    std::vector<Run> &runs) {
  int64_t numDocuments = documents.numEntries() - 1, rests = 0;
  for (int64_t i = 0; i < numDocuments; ++i)
    rests += restOf(documents, i, ranks);
  // This position's block of the rests, numbered through.
  int64_t begin = rests / ranks * position,
          end = rests / ranks * (position + 1);
  int64_t restsBefore = 0;
  for (int64_t i = 0; i < numDocuments; ++i) {
    int64_t first = documents.at(i), rest = restOf(documents, i, ranks);
    int64_t body = documents.at(i + 1) - first - rest;
    int64_t half = body / (2 * ranks);
    appendRun(runs, first + position * half, half);
    appendRun(runs, first + (2 * ranks - 1 - position) * half, half);
    int64_t from = std::max(begin - restsBefore, int64_t(0));
    int64_t to = std::min(end - restsBefore, rest);
    appendRun(runs, first + body + from, to - from);
    restsBefore += rest;
  }
}
