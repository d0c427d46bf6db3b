//===- SsdHalves.cpp - A scan as two ranks compute it ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SsdHalves.h"

#include <algorithm>

namespace cp::bench {
namespace {

/// Of cprt_ssd's inputs with D and dt_bias.
enum In { X, Dt, ALog, B, C, D, Bias };

/// Rows [first, first + rows) of dim 1 of a tensor whose dim 0 is 1.
Tensor rowsOf(const Tensor &from, int64_t first, int64_t rows, bool isNarrow) {
  std::vector<int64_t> sizes = from.shape();
  int64_t row = from.numElements() / sizes[1];
  sizes[1] = rows;
  Tensor part(sizes, isNarrow);
  for (int64_t i = 0; i < part.numElements(); ++i)
    part.set(i, from.get(first * row + i));
  return part;
}

Tensor copyOf(const Tensor &from, bool isNarrow) {
  Tensor copy(from.shape(), isNarrow);
  for (int64_t i = 0; i < copy.numElements(); ++i)
    copy.set(i, from.get(i));
  return copy;
}

} // namespace

SsdHalves::Part SsdHalves::makePart(const KernelCase &ssd, int64_t first,
                                    int64_t rows) {
  bool narrow = ssd.ins[X].buffer().dtype == kernels::DType::BF16;
  int64_t chunk = ssd.attrs[0];
  std::vector<int64_t> state = ssd.outs[1].shape();
  Part part;
  part.states.op = "ssd_states";
  for (In in : {X, Dt, ALog, B, Bias})
    part.states.ins.push_back(in == ALog || in == Bias
                                  ? copyOf(ssd.ins[in], narrow)
                                  : rowsOf(ssd.ins[in], first, rows, narrow));
  for (std::vector<int64_t> sizes :
       {std::vector<int64_t>{1, state[1]},
        state,
        {1, (rows + chunk - 1) / chunk, state[1], state[2], state[3]},
        {1, rows, state[1]}})
    part.states.outs.emplace_back(sizes, false);
  part.states.attrs = {chunk, ssd.attrs[1], ssd.attrs[2]};

  part.scan.op = "ssd_scan";
  for (In in : {X, ALog, B, C, D})
    part.scan.ins.push_back(in == ALog || in == D
                                ? copyOf(ssd.ins[in], narrow)
                                : rowsOf(ssd.ins[in], first, rows, narrow));
  std::vector<int64_t> y = ssd.outs[0].shape();
  y[1] = rows;
  part.scan.outs.emplace_back(y, narrow);
  part.scan.outs.emplace_back(state, false);
  part.scan.attrs = {chunk};
  return part;
}

SsdHalves::SsdHalves(const KernelCase &ssd) {
  int64_t length = ssd.ins[X].shape()[1], cut = length / 2;
  parts[0] = makePart(ssd, 0, cut);
  parts[1] = makePart(ssd, cut, length - cut);
}

const char *SsdHalves::run() const {
  for (const Part &part : parts)
    for (const KernelCase *half : {&part.states, &part.scan})
      if (const char *message = half->run())
        return message;
  return nullptr;
}

/// A scan takes what its rank's states kept, and what comes before: the
/// identity, or the summary of the part before.
const char *SsdHalves::handOver() {
  for (Part &part : parts) {
    if (const char *message = part.states.run())
      return message;
    for (size_t kept : {2, 3})
      part.scan.ins.push_back(copyOf(part.states.outs[kept], false));
    bool isFirst = &part == parts;
    for (size_t i : {0, 1})
      part.scan.ins.push_back(
          isFirst ? Tensor(part.states.outs[i].shape(), false, i == 0, i == 0)
                  : copyOf(parts[0].states.outs[i], false));
  }
  return nullptr;
}

void SsdHalves::store(KernelCase &ssd) const {
  int64_t done = 0;
  for (const Part &part : parts) {
    const Tensor &y = part.scan.outs[0];
    for (int64_t i = 0; i < y.numElements(); ++i)
      ssd.outs[0].set(done + i, y.get(i));
    done += y.numElements();
  }
  const Tensor &last = parts[1].scan.outs[1];
  for (int64_t i = 0; i < last.numElements(); ++i)
    ssd.outs[1].set(i, last.get(i));
}

const char *runInHalves(KernelCase &ssd) {
  SsdHalves halves(ssd);
  const char *message = halves.handOver();
  if (!message)
    message = halves.run();
  if (!message)
    halves.store(ssd);
  return message;
}

} // namespace cp::bench
