//===- GroupOperations.td - Operations over groups ----------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Operations.td.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_GROUPOPERATIONS_TD
#define CP_RUNTIME_GROUPOPERATIONS_TD

include "cp/Runtime/OperationBase.td"

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
    The whole of `dim`, of each tensor, from the parts that `order` gives each rank.
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$parts);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$wholes);
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

def CPRT_Unslice : CPRT_Operation<"unslice"> {
  let description = [{
    Zeros, but for this rank's part of `dim`, which is the input; moves nothing
    between ranks.
  }];
  let ins = (inputs CPRT_Any<"...">:$part);
  let outs = (outputs CPRT_Any<"...">:$whole);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<0>:$dim,
                          CPRT_Order:$order);
  let onlyMoves = true;
}

def CPRT_AllReduce : CPRT_Operation<"all_reduce"> {
  let description = [{
    As many outputs as inputs, each the sum of an input over the group, added in
    the order of the group's positions (bf16 in f32, rounded once); f32, f64 or
    bf16. Of a tensor of 16384 elements or more each rank adds up a slice of the
    rows and sends it to the others, 2 (R-1)/R of the tensor where R divides the
    rows; of a smaller one it sends (R-1) times all.
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$terms);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$sums);
  let attrs = (attributes CPRT_Axes:$axes);
  let onlyMoves = true;
}

def CPRT_ReduceScatter : CPRT_Operation<"reduce_scatter"> {
  let description = [{
    The same sums, of which each rank keeps its part of `dim`.
  }];
  let ins = (inputs CPRT_Variadic<CPRT_Any<"...">>:$terms);
  let outs = (outputs CPRT_Variadic<CPRT_Any<"...">>:$parts);
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

def CPRT_DocumentPositions : CPRT_Operation<"document_positions"> {
  let description = [{
    The places of this rank's rows within their documents, when each row of the
    batch is n - 1 documents behind each other: document i has the tokens
    cu_seqlens[b, i] to cu_seqlens[b, i + 1] - 1 of the whole sequence, which is
    cut over `axes`, major to minor, each by its entry in `orders`.
    Documents may be empty. Each row of cu_seqlens begins with 0, does not fall
    and ends with the length of the whole sequence; CPRT_INVALID_ARGUMENT
    otherwise. The ranks of the group, or those over `alike` where that names
    axes, have the same, or all get CPRT_MISMATCH; nothing else passes between
    them. A single order may be one per document, -1 or -3: each rank has its rows
    as cprt_reorder_documents gives them.
  }];
  let ins = (inputs CPRT_Tensor<"i32", "b,n">:$cu_seqlens);
  let outs = (outputs CPRT_I64<"b,l">:$positions);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Orders:$orders,
                          CPRT_Axes:$alike);
  let hasMethod = false;
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
    with identity (1, 0). A decay of -0 (cprt_ssd_states) stays -0, and of state1
    nothing passes it, NaN neither. decay's sizes are a prefix of state's; f32 or
    f64.
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
  let hasMethod = false;
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
  let hasMethod = false;
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
    one block for longer than the deadline is taken for stalled. A single order
    may be one per document, -1 or -3, with cu_seqlens as documents: rows are as
    cprt_reorder_documents gives them, and s is l.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,dv">:$v,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places,
                    CPRT_Optional<CPRT_Tensor<"i32", "b,n">>:$documents);
  let outs = (outputs CPRT_T<"b,l,hq,dv">:$o, CPRT_Sum<"b,hq,l">:$lse);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Flag:$causal,
                          CPRT_Orders:$orders, CPRT_Real:$scale,
                          CPRT_Int<0>:$window);
}

def CPRT_RingAttentionGrad : CPRT_Operation<"ring_attention_grad"> {
  let description = [{
    cprt_attention_grad with all tensors cut along the sequence over `axes`, each
    by its entry in `orders`. Keys and values go round as in cprt_ring_attention;
    with them go, one step later, the sums of their dk and dv, in f32 for bf16.
    The rank behind the one that has a block begins them, each adds its terms, and
    the one that has it takes them from the rank before it and adds its own, last.
    Each rank sends R - 1 times the bytes of its k, v, dk and dv. An order of -1
    and documents as in cprt_ring_attention.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,e">:$v, CPRT_T<"b,l,hq,e">:$out,
                    CPRT_Sum<"b,hq,l">:$lse, CPRT_T<"b,l,hq,e">:$dout,
                    CPRT_Optional<CPRT_Sum<"b,hq,l">>:$dlse,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places,
                    CPRT_Optional<CPRT_Tensor<"i32", "b,n">>:$documents);
  let outs = (outputs CPRT_T<"b,l,hq,d">:$dq, CPRT_Sum<"b,s,hkv,d">:$dk,
                      CPRT_Sum<"b,s,hkv,e">:$dv);
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
  let hasMethod = false;
}

def CPRT_ReorderDocuments : CPRT_Operation<"reorder_documents"> {
  let description = [{
    As cprt_reorder, from or to an order per document, or both: -1, zigzag, or -3,
    contiguous.
    Each element of the batch, the first dimension, has the documents that its row
    of cu_seqlens says, as in cprt_document_positions. In zigzag order, of a
    document of n tokens the first n - n mod 2R are cut so, and what is left of all
    documents, behind each other, in R blocks. In contiguous order each document is
    cut into R blocks, of which n mod R are one longer: that of the rank behind the
    last that had a longer one, or of rank 0, and those of the next, in turn. A rank
    has its rows in ascending order. `dim` is not the first dimension. The ranks of
    the group have the same cu_seqlens, or all get CPRT_MISMATCH.
  }];
  let ins = (inputs CPRT_Any<"...">:$source,
                    CPRT_Tensor<"i32", "b,n">:$cu_seqlens);
  let outs = (outputs CPRT_Any<"...">:$result);
  let attrs = (attributes CPRT_Axes:$axes, CPRT_Int<1>:$dim,
                          CPRT_OrderOfDocuments:$from_order,
                          CPRT_OrderOfDocuments:$to_order);
  let hasMethod = false;
}

#endif // CP_RUNTIME_GROUPOPERATIONS_TD
