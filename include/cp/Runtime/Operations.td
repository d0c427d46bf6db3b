//===- Operations.td - The runtime's operations ------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of what a compiled program can call. From it are made: the
// declarations that cprt.h includes; the check that every call goes through and
// the readers of its attributes (lib/Runtime/Operations.h), and of its tensors
// where they have fixed ranks (kernels/cpu/OpArguments.h); the writers of calls
// (lib/Dialect/CP/CPRuntimeCalls.cpp); lists for whoever looks one up by its
// name.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_OPERATIONS_TD
#define CP_RUNTIME_OPERATIONS_TD

include "cp/Runtime/OperationBase.td"

//===----------------------------------------------------------------------===//
// Operations of one rank
//===----------------------------------------------------------------------===//

def CPRT_Matmul : CPRT_Operation<"matmul"> {
  let description = [{
    outs C[..., n] = A[..., k] * op(W) (+ C). W is [n, k] with transpose_b, and
    [k, n] without.
  }];
  let ins = (inputs CPRT_T<"...,k">:$A, CPRT_T<"n,k">:$W);
  let outs = (outputs CPRT_T<"...,n">:$C);
  let attrs = (attributes CPRT_Flag:$accumulate, CPRT_Flag:$transpose_b);
  let isKernel = true;
  let isOp = false;
}

def CPRT_Conv1d : CPRT_Operation<"conv1d"> {
  let description = [{
    Causal depthwise convolution along dim 1.
    y[t] = bias + sum_k weight[k] * x[t-(w-1)+k]; rows before 0 come from
    `initial`, or are zero; then y * sigmoid(y) when silu.
  }];
  let ins = (inputs CPRT_T<"b,l,c">:$x, CPRT_T<"c,w">:$weight,
                    CPRT_Optional<CPRT_T<"c">>:$bias,
                    CPRT_Optional<CPRT_T<"b,w-1,c">>:$initial);
  let outs = (outputs CPRT_T<"b,l,c">:$y);
  let attrs = (attributes CPRT_Flag:$silu);
  let isKernel = true;
}

def CPRT_Ssd : CPRT_Operation<"ssd"> {
  let description = [{
    The Mamba-2 scan (state space duality). delta = clamp(softplus(dt+dt_bias),
    dt_min, dt_max), a = exp(-exp(A_log) * delta), head h uses group h*g/heads:
      S = a S + delta x B^T,   y = S C + D x.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$B,
                    CPRT_T<"b,l,g,n">:$C, CPRT_Optional<CPRT_T<"h,p?">>:$D,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias,
                    CPRT_Optional<CPRT_T<"b,h,p,n">>:$initial);
  let outs = (outputs CPRT_T<"b,l,h,p">:$y, CPRT_T<"b,h,p,n">:$final_state);
  let attrs = (attributes CPRT_Int<1>:$chunk_size, CPRT_Real:$dt_max,
                          CPRT_Real:$dt_min);
  let isKernel = true;
}

def CPRT_SsdStates : CPRT_Operation<"ssd_states"> {
  let description = [{
    First half of a scan whose incoming state is not known yet, in chunks of
    chunk_size tokens, of which the last one may be shorter:
      decay         product of a over all tokens
      state         final state when the incoming one is zero
      chunk_states  final state of each chunk from zero
      delta         as in cprt_ssd
    With bf16 inputs all four outputs are f32.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$B,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias);
  let outs = (outputs CPRT_Sum<"b,h">:$decay, CPRT_Sum<"b,h,p,n">:$state,
                      CPRT_Sum<"b,ceil(l/chunk_size),h,p,n">:$chunk_states,
                      CPRT_Sum<"b,l,h">:$delta);
  let attrs = (attributes CPRT_Int<1>:$chunk_size, CPRT_Real:$dt_max,
                          CPRT_Real:$dt_min);
  let isKernel = true;
}

def CPRT_SsdScan : CPRT_Operation<"ssd_scan"> {
  let description = [{
    Second half: the incoming state is prefix_decay * initial + prefix_state. Log
    decays are formed of delta and A_log again, as cprt_ssd forms them: what is
    summed in double must not be handed over in less.
    With bf16 x, A_log, B, C, D and y all the others are f32.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"h">:$A_log,
                    CPRT_T<"b,l,g,n">:$B, CPRT_T<"b,l,g,n">:$C,
                    CPRT_Optional<CPRT_T<"h,p?">>:$D,
                    CPRT_Sum<"b,ceil(l/chunk_size),h,p,n">:$chunk_states,
                    CPRT_Sum<"b,l,h">:$delta, CPRT_Sum<"b,h">:$prefix_decay,
                    CPRT_Sum<"b,h,p,n">:$prefix_state,
                    CPRT_Optional<CPRT_Sum<"b,h,p,n">>:$initial);
  let outs = (outputs CPRT_T<"b,l,h,p">:$y, CPRT_Sum<"b,h,p,n">:$final_state);
  let attrs = (attributes CPRT_Int<1>:$chunk_size);
  let isKernel = true;
}

def CPRT_Attention : CPRT_Operation<"attention"> {
  let description = [{
    Softmax attention: query head i uses key head i * hkv / hq, and
      o = sum_j w_j v_j / sum_j w_j,   w_j = exp(scale q . k_j),
      lse = log(sum_j w_j)
    over the keys that the query sees: all; with causal those at its own place
    in the whole sequence and before; with window > 0, which wants causal, the
    last `window` of these. A query that sees no key has o = 0, lse = -inf. With
    bf16 q, k, v and o, lse is f32.
    q_axes are the mesh axes, major to minor, that cut the queries' sequence,
    each by its entry in q_orders, so that this rank's rows have places in the
    whole; k_axes and k_orders likewise. Empty arrays: all of it is here.
    Causal wants whole sequences of one length. Moves nothing between ranks.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,dv">:$v);
  let outs = (outputs CPRT_T<"b,l,hq,dv">:$o, CPRT_Sum<"b,hq,l">:$lse);
  let attrs = (attributes CPRT_Flag:$causal, CPRT_Axes:$k_axes,
                          CPRT_Orders:$k_orders, CPRT_Axes:$q_axes,
                          CPRT_Orders:$q_orders, CPRT_Real:$scale,
                          CPRT_Int<0>:$window);
}

def CPRT_RmsNorm : CPRT_Operation<"rms_norm"> {
  let description = [{
    RMS over each of `groups` equal parts of the last dim. gate_first: normalise
    x*silu(gate); otherwise normalise x and multiply by silu(gate) at the end.
  }];
  let ins = (inputs CPRT_T<"...,c">:$x, CPRT_Optional<CPRT_T<"c">>:$weight,
                    CPRT_Optional<CPRT_T<"...,c">>:$gate);
  let outs = (outputs CPRT_T<"...,c">:$y);
  let attrs = (attributes CPRT_Real:$eps, CPRT_Flag:$gate_first,
                          CPRT_Int<1>:$groups);
  let isKernel = true;
}

def CPRT_Rotary : CPRT_Operation<"rotary"> {
  let description = [{
    Rotary position embedding of the first `dims` channels (even) of each head,
    in halves: with k = dims / 2, i < k and the angle
    a = positions[l] * theta^(-2i/dims), which is kept in f64,
      y[i] = x[i] cos a - x[i+k] sin a,   y[i+k] = x[i+k] cos a + x[i] sin a;
    the other channels stay.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_I64<"l">:$positions);
  let outs = (outputs CPRT_T<"b,l,h,p">:$y);
  let attrs = (attributes CPRT_Int<1>:$dims, CPRT_Real:$theta);
  let isKernel = true;
}

def CPRT_Positions : CPRT_Operation<"positions"> {
  let description = [{
    The places in the whole sequence of this rank's rows, when the sequence is
    cut over mesh axes `axes`, major to minor, each by its entry in `orders`, as
    q_axes and q_orders of cprt_attention. Empty arrays: all of it is here.
  }];
  let outs = (outputs CPRT_I64<"l">:$positions);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Orders:$orders);
}

def CPRT_Embedding : CPRT_Operation<"embedding"> {
  let description = [{
    outs y = table[ids[...], :]. An id outside [0, v) is CPRT_INVALID_ARGUMENT.
  }];
  let ins = (inputs CPRT_Ids<"...">:$ids, CPRT_T<"v,d">:$table);
  let outs = (outputs CPRT_T<"...,d">:$y);
  let isKernel = true;
}

def CPRT_Copy : CPRT_Operation<"copy"> {
  let description = [{
    outs dst = src, any strides, same sizes.
  }];
  let ins = (inputs CPRT_Any<"...">:$src);
  let outs = (outputs CPRT_Any<"...">:$dst);
  let isKernel = true;
  let isOp = false;
}

def CPRT_Repeat : CPRT_Operation<"repeat"> {
  let description = [{
    Repeats each run of `unit` elements of `dim` `times` times in place:
    [u0 u1] -> [u0 u0 u1 u1] for times = 2.
  }];
  let ins = (inputs CPRT_Any<"...">:$src);
  let outs = (outputs CPRT_Any<"...">:$dst);
  let attrs = (attributes CPRT_Int<0>:$dim, CPRT_Int<1>:$times,
                          CPRT_Int<1>:$unit);
  let isKernel = true;
  let onlyMoves = true;
}

//===----------------------------------------------------------------------===//
// Operations over a group of ranks
//===----------------------------------------------------------------------===//

def CPRT_AllToAll : CPRT_Operation<"all_to_all"> {
  let description = [{
    As many outputs as inputs. Tensor i is cut over the group along
    concat_dims[i] (each rank holds the part that concat_orders[i] gives it) and
    leaves cut along split_dims[i] by split_orders[i]. With repeat_times[i] > 1
    the split dim is first repeated as by cprt_repeat with unit repeat_units[i].
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$sources);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$results);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Words:$concat_dims,
                          CPRT_Orders:$concat_orders, CPRT_Words:$repeat_times,
                          CPRT_Words:$repeat_units, CPRT_Words:$split_dims,
                          CPRT_Orders:$split_orders);
  let onlyMoves = true;
}

def CPRT_AllGather : CPRT_Operation<"all_gather"> {
  let description = [{
    The whole of `dim` from the parts that `order` gives each rank.
  }];
  let ins = (inputs CPRT_Any<"...">:$part);
  let outs = (outputs CPRT_Any<"...">:$whole);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$order);
  let onlyMoves = true;
}

def CPRT_Slice : CPRT_Operation<"slice"> {
  let description = [{
    This rank's part of `dim`; moves nothing between ranks.
  }];
  let ins = (inputs CPRT_Any<"...">:$whole);
  let outs = (outputs CPRT_Any<"...">:$part);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$order);
  let onlyMoves = true;
}

def CPRT_AllReduce : CPRT_Operation<"all_reduce"> {
  let description = [{
    Sum over the group, added in the order of the group's positions (bf16 in
    f32, rounded once); f32, f64 or bf16.
  }];
  let ins = (inputs CPRT_T<"...">:$term);
  let outs = (outputs CPRT_T<"...">:$sum);
  let attrs = (attributes CPRT_Axes:$axes);
  let onlyMoves = true;
}

def CPRT_ReduceScatter : CPRT_Operation<"reduce_scatter"> {
  let description = [{
    The same sum, each rank keeping its part of `dim`.
  }];
  let ins = (inputs CPRT_T<"...">:$term);
  let outs = (outputs CPRT_T<"...">:$part);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$order);
  let onlyMoves = true;
}

def CPRT_Shift : CPRT_Operation<"shift"> {
  let description = [{
    The input of the rank `offset` positions earlier in the group; zeros where
    there is none.
  }];
  let ins = (inputs CPRT_Any<"...">:$source);
  let outs = (outputs CPRT_Any<"...">:$result);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Signed:$offset);
  let onlyMoves = true;
}

def CPRT_Halo : CPRT_Operation<"halo"> {
  let description = [{
    k inputs x_i, and none or k inputs initial_i; k outputs: the `rows` rows
    along `dim` that come before this rank's x_i in the sequence, or with reverse
    those behind it. They are held by the neighbour, and by those beyond it where
    it has fewer. Of rows that the sequence does not have these are the nearest
    of initial_i, which has as many, or zeros.

    With order 1 (zigzag) the rank at position p of R holds, one behind the
    other along `dim`, the parts p and 2R-1-p of 2R of a sequence, and an output
    has twice `rows` rows: those next to the first part, then those next to the
    second.

    Of parts of L rows each sends min(L, rows - (n-1) L) rows, if that is above
    0, to the n-th part behind it (with reverse, before it), unless this is on
    the same rank. Orders above 1 are CPRT_UNSUPPORTED.
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$sources,
                    CPRT_Variadic<CPRT_Any<"...">>:$initial);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$results);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$order, CPRT_Flag:$reverse,
                          CPRT_Int<0>:$rows);
  let onlyMoves = true;
}

def CPRT_ScanState : CPRT_Operation<"scan_state"> {
  let description = [{
    Exclusive prefix over the group, in the order of its positions, of
      (decay1, state1) + (decay2, state2) = (decay1 decay2, decay2 state1 +
      state2)
    with identity (1, 0). decay's sizes are a prefix of state's; f32 or f64.
    ins decay, state; outs decay, state, and with total the sum of all on every
    rank: decay, state. With R ranks, S bytes of state, D of decay and m = S + D,
    the rank at position p sends
      0 chain       m, the last rank 0. Each rank hands its inclusive prefix to
                    the next: R - 1 steps.
      1 gather      (R-1) m. All summaries to all ranks, which fold: 1 step.
      2 doubling    m for each k >= 0 with p + 2^k < R, and m but for the last
                    rank: position 0 ceil(log2 R) m + m. In step k each rank
                    takes what the one 2^k positions earlier has folded so far;
                    the last step takes the previous rank's inclusive prefix.
      3 pipelined   m, the last rank 0. The chain in K blocks: R - 1 + K - 1
                    steps of m / K. K grows with R and m: see ScanChain.cpp.
      4 transposed  (S - S_p) + (R-1) S_p + (R-1) D, where S_p is the slice of
                    position p of the flattened state: its n elements in R parts
                    in a row, the first n mod R of them one longer; that is
                    2 (R-1)/R S + (R-1) D when R divides n. Each rank folds its
                    slice for all ranks, between two exchanges: 2 steps.
    All add from left to right and give the same bits, except doubling. In a
    group of one nothing is sent.

    With order 1 (zigzag) a rank brings the summaries of its two parts, number p
    and 2R-1-p of 2R: dim 0 of all buffers is even, and its elements 2i and 2i+1
    belong to the first and to the second part (so the states of x[2b, l/2,
    ...], which is x[b, l, ...] in halves, are scanned as they are). The results
    are those, bit by bit, of 2R ranks that hold one part each. S, D and m are
    then of one part, and the rank at position p sends
      0 chain       m, but not at R-1, and m, but not at 0. Forth through the
                    first parts and back through the second: 2R - 2 steps.
      1 gather      2 (R-1) m: 1 step.
      2 doubling    for each of its parts n, m for each k >= 0 with
                    n + 2^k < 2R, and m but for the last part; neither what part
                    R-1 hands to part R, which is on the same rank:
                    ceil(log2 2R) + 1 steps.
      3 pipelined   as the chain, in 2R - 2 + K - 1 steps of m / K.
      4 transposed  2 (S - S_p) + 2 (R-1) S_p + 2 (R-1) D: 2 steps.
    Orders above 1 are CPRT_UNSUPPORTED.

    With reverse the state goes from the last position to the first: all is as
    if positions, in zigzag order parts, were numbered from the last, so the
    results are the same bits, and R-1-p stands for p in what a rank sends in
    contiguous order, but for S_p.

    A total is of one sequence: in zigzag order its dim 0 is half of the
    inputs'. For it, the rank that has the last part sends (R-1) m more (chain,
    doubling, pipelined), or each rank (R-1) S_p (transposed), or nothing
    (gather).
  }];
  let ins = (inputs CPRT_Variadic<CPRT_T<"...">>:$summary);
  let outs = (outputs CPRT_Variadic<CPRT_T<"...">>:$sums);
  let attrs = (attributes CPRT_Int<0>:$algorithm, CPRT_Axes:$axes,
                          CPRT_Order:$order, CPRT_Flag:$reverse,
                          CPRT_Flag:$total);
  let onlyMoves = true;
  let isOp = false;
}

def CPRT_ScanStateWith : CPRT_Operation<"scan_state_with"> {
  let description = [{
    cprt_scan_state of summaries that combine in a way of their own: k tensors
    of one type, whose first batch_dims sizes are the same and count the units.
    Each unit combines alone. ins k tensors; outs k tensors, and with total k
    more. Algorithms, orders and what a rank sends are as above, where S = m are
    the bytes of all k tensors and D = 0, and S_p those of whole units: n units
    in R parts in a row, the first n mod R of them one longer. Counted as
    scan_state.

    `function` has the form of an operation without attributes, on buffers of the
    k tensors' sizes with one count of units, any, in place of the batch_dims
    sizes; strides are any, addresses aligned to elements only, and the stream
    is null. Its inputs are the tensors of the summary of those tokens through
    which the state runs first (with reverse the later ones), then those of the
    other's, and its outputs those of both together; without inputs, the outputs
    are those of no tokens at all. It must be associative, write all its
    outputs, of which none overlaps an input, depend on nothing but its inputs,
    and make no call of this context but cprt_context_fail and cprt_read_call.
    Each rank's thread calls it, several times in a scan; small numbers are not
    flushed for it.
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$summary);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$sums);
  let attrs = (attributes CPRT_Int<0>:$algorithm, CPRT_Axes:$axes,
                          CPRT_Int<0>:$batch_dims, CPRT_Order:$order,
                          CPRT_Flag:$reverse, CPRT_Flag:$total);
  let isOp = false;
  let takesFunction = true;
}

def CPRT_RingAttention : CPRT_Operation<"ring_attention"> {
  let description = [{
    cprt_attention with q, k and v all cut along the sequence over `axes`, each
    by its entry in `orders`. Keys and values go round: in R - 1 steps each rank
    takes from the previous position the block which that one has just worked
    on, or is about to, before it works on its own. Each rank sends R - 1 times
    the bytes of its k and v. Blocks are added in the order in which they come,
    the own one first, in f32 for bf16, and rounded once. A rank that works on
    one block for longer than the deadline is taken for stalled.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,dv">:$v);
  let outs = (outputs CPRT_T<"b,l,hq,dv">:$o, CPRT_Sum<"b,hq,l">:$lse);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Flag:$causal,
                          CPRT_Orders:$orders, CPRT_Real:$scale,
                          CPRT_Int<0>:$window);
}

def CPRT_Reorder : CPRT_Operation<"reorder"> {
  let description = [{
    Changes the order in which `dim` is cut.
  }];
  let ins = (inputs CPRT_Any<"...">:$source);
  let outs = (outputs CPRT_Any<"...">:$result);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$from_order, CPRT_Order:$to_order);
  let onlyMoves = true;
}

#endif // CP_RUNTIME_OPERATIONS_TD
