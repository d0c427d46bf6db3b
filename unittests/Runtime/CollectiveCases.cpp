//===- CollectiveCases.cpp - One call of every collective -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCases.h"

using namespace cp::test;

void Collective::run(cprt_context *context, int64_t ranks) const {
  Tensor from(CPRT_F32, in), to(CPRT_F32, out);
  Tensor decay(CPRT_F32, Sizes{in[0]}), outDecay(CPRT_F32, Sizes{in[0]});
  Tensor lse(CPRT_F32, Sizes{1, 1, 2}), dk(CPRT_F32, out), dv(CPRT_F32, out);
  Call call;
  Tensor lists(CPRT_I32, Sizes{1, 2});
  Array ends(lists.sizes);
  ends.values = {0, 8};
  lists.write(ends);
  if (op == cprt_reorder_documents)
    call.in(from).in(lists).out(to);
  else if (op == cprt_scan_state)
    call.in(decay).in(from).out(outDecay).out(to);
  else if (op == cprt_ring_attention)
    call.in(from).in(from).in(from).out(to).out(lse);
  else if (op == cprt_ring_attention_grad)
    call.in(from)
        .in(from)
        .in(from)
        .in(from)
        .in(lse)
        .in(from)
        .out(to)
        .out(dk)
        .out(dv);
  else
    call.in(from).out(to);
  addAttrs(call);
  call.run(op, context);
  meetAll(context, {ranks});
}

Collective cp::test::scanCase(const char *variant, int64_t algorithm,
                              int64_t order) {
  return {"scan_state",
          cprt_scan_state,
          {order + 1, 6},
          {order + 1, 6},
          [=](Call &call) {
            call.attr(algorithm).array({0}).attr(order).attr(0).attr(0);
          },
          variant};
}

namespace {

Collective halo(const char *variant, int64_t order) {
  return {
      "halo",
      cprt_halo,
      {4, 2},
      {order + 1, 2},
      [=](Call &call) { call.array({0}).attr(0).attr(order).attr(0).attr(1); },
      variant};
}

/// Those that move whole tensors between layouts.
std::vector<Collective> exchanges() {
  return {
      {"all_to_all",
       cprt_all_to_all,
       {2, 8},
       {8, 2},
       [](Call &call) {
         for (int64_t word : {0, 0, 0, 1, 1, 1, 0})
           call.array({word});
       }},
      {"all_gather",
       cprt_all_gather,
       {2},
       {8},
       [](Call &call) { call.array({0}).attr(0).attr(0); }},
      {"all_reduce",
       cprt_all_reduce,
       {8},
       {8},
       [](Call &call) { call.array({0}); }},
      {"reduce_scatter",
       cprt_reduce_scatter,
       {8},
       {2},
       [](Call &call) { call.array({0}).attr(0).attr(0); }},
      {"reorder",
       cprt_reorder,
       {4},
       {4},
       [](Call &call) { call.array({0}).attr(0).attr(0).attr(1); }},
      {"reorder_documents",
       cprt_reorder_documents,
       {1, 2},
       {1, 2},
       [](Call &call) { call.array({0}).attr(1).attr(0).attr(-1); }},
  };
}

/// Those that hand something on to a neighbour.
std::vector<Collective> neighbours() {
  return {
      {"shift",
       cprt_shift,
       {4},
       {4},
       [](Call &call) { call.array({0}).attr(1); }},
      halo("", 0),
      halo("zigzag", 1),
      {"ring_attention",
       cprt_ring_attention,
       {1, 2, 1, 4},
       {1, 2, 1, 4},
       [](Call &call) { call.array({0}).attr(1).array({1}).attr(0).attr(0); }},
      {"ring_attention_grad",
       cprt_ring_attention_grad,
       {1, 2, 1, 4},
       {1, 2, 1, 4},
       [](Call &call) { call.array({0}).attr(1).array({1}).attr(0).attr(0); }},
  };
}

std::vector<Collective> scans() {
  return {
      scanCase("chain", 0),
      scanCase("gather", 1),
      scanCase("doubling", 2),
      scanCase("pipelined", 3),
      scanCase("transposed", 4),
      scanCase("zigzagChain", 0, 1),
      scanCase("zigzagGather", 1, 1),
      scanCase("zigzagDoubling", 2, 1),
      scanCase("zigzagPipelined", 3, 1),
      scanCase("zigzagTransposed", 4, 1),
  };
}

} // namespace

const std::vector<Collective> &cp::test::collectives() {
  static const std::vector<Collective> all = [] {
    std::vector<Collective> table = exchanges();
    for (const auto &more : {neighbours(), scans()})
      table.insert(table.end(), more.begin(), more.end());
    return table;
  }();
  return all;
}
