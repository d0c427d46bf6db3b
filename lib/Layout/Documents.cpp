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

static void appendZigzag(const Documents &documents, int64_t ranks,
                         int64_t position, std::vector<Run> &runs) {
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

static void appendContiguous(const Documents &documents, int64_t ranks,
                             int64_t position, std::vector<Run> &runs) {
  int64_t numDocuments = documents.numEntries() - 1;
  // Who is next to have a longer block.
  int64_t turn = 0;
  for (int64_t i = 0; i < numDocuments; ++i) {
    int64_t first = documents.at(i), length = documents.at(i + 1) - first;
    int64_t block = length / ranks, longer = length % ranks;
    // Of the positions [0, end) those from `turn` on, around the last.
    auto longerBefore = [&](int64_t end) {
      int64_t around = std::max(turn + longer - ranks, int64_t(0));
      return std::min(end, around) +
             std::max(std::min(end, turn + longer) - turn, int64_t(0));
    };
    int64_t begin = position * block + longerBefore(position);
    int64_t end = (position + 1) * block + longerBefore(position + 1);
    appendRun(runs, first + begin, end - begin);
    turn = (turn + longer) % ranks;
  }
}

void cp::appendRuns(const Documents &documents, Order order, int64_t ranks,
                    int64_t position, std::vector<Run> &runs) {
  return order == Order::ZigzagPerDocument
             ? appendZigzag(documents, ranks, position, runs)
             : appendContiguous(documents, ranks, position, runs);
}
