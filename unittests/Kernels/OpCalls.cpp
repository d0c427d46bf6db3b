//===- OpCalls.cpp - Calls of any operation -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpCalls.h"

#include <algorithm>

using namespace cp::kernels::test;

static const int64_t inf = bitsOf(std::numeric_limits<double>::infinity());

std::vector<OpCall> cp::kernels::test::allCalls() {
  std::vector<OpCall> calls = {
      {"matmul", {{70, 33}, {45, 33}}, {{70, 45}}, {0, 1}},
      {"matmul", {{3, 33}, {33, 45}}, {{3, 45}}, {0, 0}},
      {"conv1d", {{2, 70, 37}, {37, 4}, {37}, {2, 3, 37}}, {{2, 70, 37}}, {1}},
      {"rms_norm",
       {{20, 66}, {66}, {20, 66}},
       {{20, 66}},
       {bitsOf(1e-5), 1, 2}},
  };
  for (int64_t chunk : {16, 64, 100}) {
    int64_t l = 150, chunks = (l + chunk - 1) / chunk;
    calls.push_back({"ssd",
                     {{1, l, 4, 33},
                      {1, l, 4},
                      {4},
                      {1, l, 2, 17},
                      {1, l, 2, 17},
                      {4},
                      {4},
                      {1, 4, 33, 17}},
                     {{1, l, 4, 33}, {1, 4, 33, 17}},
                     {chunk, inf, 0}});
    calls.push_back(
        {"ssd_states",
         {{1, l, 4, 33}, {1, l, 4}, {4}, {1, l, 2, 17}},
         {{1, 4}, {1, 4, 33, 17}, {1, chunks, 4, 33, 17}, {1, l, 4}},
         {chunk, inf, 0},
         SIZE_MAX,
         0});
  }
  // With chunks that fit a tile, chunk states say what x and B come to; see
  // TwoPartsSpoilWhatTheWholeSpoils.
  calls.push_back({"ssd_scan",
                   {{1, 150, 4, 33},
                    {4},
                    {1, 150, 2, 17},
                    {1, 150, 2, 17},
                    {4},
                    {1, 2, 4, 33, 17},
                    {1, 150, 4},
                    {1, 4},
                    {1, 4, 33, 17}},
                   {{1, 150, 4, 33}, {1, 4, 33, 17}},
                   {100},
                   5,
                   1});
  for (int64_t window : {0, 70})
    calls.push_back({"attention",
                     {{1, 150, 4, 20}, {1, 150, 2, 20}, {1, 150, 2, 10}},
                     {{1, 150, 4, 10}, {1, 4, 150}},
                     {1, bitsOf(0.2), window, 3, 0, 150, 1, 3, 0, 150, 1},
                     SIZE_MAX,
                     1});
  // Cards have not all of them yet.
  auto isMissing = [](const OpCall &call) {
    for (const Implementation &implementation : implementations())
      if (!implementation.find(call.op, DType::F32))
        return true;
    return false;
  };
  calls.erase(std::remove_if(calls.begin(), calls.end(), isMissing),
              calls.end());
  return calls;
}
