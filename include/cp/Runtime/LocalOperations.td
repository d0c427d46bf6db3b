//===- LocalOperations.td - Operations of one rank ----------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Operations.td.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_LOCALOPERATIONS_TD
#define CP_RUNTIME_LOCALOPERATIONS_TD

include "cp/Runtime/OperationBase.td"

def CPRT_Matmul : CPRT_Operation<"matmul"> {
  let description = [{
    outs C[..., n] = A[..., k] * op(W) (+ C). W is [n, k] with transpose_b, and
    [k, n] without.
  }];
  let ins = (inputs CPRT_T<"...,k">:$A, CPRT_T<"n,k">:$W);
  let outs = (outputs CPRT_T<"...,n">:$C);
  let attrs = (attributes CPRT_Flag:$accumulate, CPRT_Flag:$transpose_b);
  let isKernel = true;
  let hasMethod = false;
}

def CPRT_ContractRows : CPRT_Operation<"contract_rows"> {
  let description = [{
    outs C[m, n] = sum over all rows r of A[r, m] * B[r, n] (+ C), a product with
    A transposed, such as a weight's gradient is.
  }];
  let ins = (inputs CPRT_T<"...,m">:$A, CPRT_T<"...,n">:$B);
  let outs = (outputs CPRT_Sum<"m,n">:$C);
  let attrs = (attributes CPRT_Flag:$accumulate);
  let isKernel = true;
  let hasMethod = false;
}

def CPRT_Conv1d : CPRT_Operation<"conv1d"> {
  let description = [{
    Causal depthwise convolution along dim 1.
    y[t] = bias + sum_k weight[k] * x[t-(w-1)+k]; rows before 0 come from
    `initial`, or are zero; then y * sigmoid(y) when silu. With places a row
    reads as many rows before it as its place says, and zeros further back.
  }];
  let ins = (inputs CPRT_T<"b,l,c">:$x, CPRT_T<"c,w">:$weight,
                    CPRT_Optional<CPRT_T<"c">>:$bias,
                    CPRT_Optional<CPRT_T<"b,w-1,c">>:$initial,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
  let outs = (outputs CPRT_T<"b,l,c">:$y);
  let attrs = (attributes CPRT_Flag:$silu);
  let isKernel = true;
}

def CPRT_Ssd : CPRT_Operation<"ssd"> {
  let description = [{
    The Mamba-2 scan (state space duality). delta = clamp(softplus(dt+dt_bias),
    dt_min, dt_max), a = exp(-exp(A_log) * delta), head h uses group h*g/heads:
      S = a S + delta x B^T,   y = S C + D x.
    With places a token of place 0 starts from a state of zeros, whatever came
    before it: a NaN is not carried on.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$B,
                    CPRT_T<"b,l,g,n">:$C, CPRT_Optional<CPRT_T<"h,p?">>:$D,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias,
                    CPRT_Optional<CPRT_T<"b,h,p,n">>:$initial,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
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
    With places a token of place 0 starts anew. Where there is one decay is -0,
    which cprt_scan_state keeps, and which no state passes.
    With bf16 inputs all four outputs are f32.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$B,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
  let outs = (outputs CPRT_Sum<"b,h">:$decay, CPRT_Sum<"b,h,p,n">:$state,
                      CPRT_Sum<"b,ceil(l/chunk_size),h,p,n">:$chunk_states,
                      CPRT_Sum<"b,l,h">:$delta);
  let attrs = (attributes CPRT_Int<1>:$chunk_size, CPRT_Real:$dt_max,
                          CPRT_Real:$dt_min);
  let isKernel = true;
}

def CPRT_SsdScan : CPRT_Operation<"ssd_scan"> {
  let description = [{
    Second half: the incoming state is prefix_decay * initial + prefix_state, and
    prefix_state alone where prefix_decay is -0. places are those that
    cprt_ssd_states was given. Log decays are formed of delta and A_log again, as
    cprt_ssd forms them: what is summed in double must not be handed over in
    less.
    With bf16 x, A_log, B, C, D and y all the others are f32.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"h">:$A_log,
                    CPRT_T<"b,l,g,n">:$B, CPRT_T<"b,l,g,n">:$C,
                    CPRT_Optional<CPRT_T<"h,p?">>:$D,
                    CPRT_Sum<"b,ceil(l/chunk_size),h,p,n">:$chunk_states,
                    CPRT_Sum<"b,l,h">:$delta, CPRT_Sum<"b,h">:$prefix_decay,
                    CPRT_Sum<"b,h,p,n">:$prefix_state,
                    CPRT_Optional<CPRT_Sum<"b,h,p,n">>:$initial,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
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
    Causal wants whole sequences of one length. Places want causal: a query sees
    no key further back than its place says. Moves nothing between ranks.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,dv">:$v,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
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
    a = positions[l] * theta^(-2i/dims), which is kept in f64 (positions[b, l]
    where the batch has its own),
      y[i] = x[i] cos a - x[i+k] sin a,   y[i+k] = x[i+k] cos a + x[i] sin a;
    the other channels stay.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_I64<"b?,l">:$positions);
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
  let hasMethod = false;
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
  let hasMethod = false;
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

def CPRT_LinearCrossEntropy : CPRT_Operation<"linear_cross_entropy"> {
  let description = [{
    Of each token's logits z = h W^T, which are stored for one token at a time:
    lse = log sum_v exp(z[v]), losses = lse - z[label]; both are 0 where the label
    is ignore_index. Another label outside [0, v) is CPRT_INVALID_ARGUMENT.

    With `rows` the weight is s slices, of as many rows each, of one that has
    `vocabulary`: slice i starts at its row rows[i], and labels are rows of the
    whole. Of each slice by itself, lse is that of its logits, and losses -z[label]
    in the slice that has the label, 0 in others; where the label is ignore_index
    lse is -inf, but 0 in the slice that starts at row 0.
  }];
  let ins = (inputs CPRT_T<"b,l,d">:$h, CPRT_T<"v,d">:$weight,
                    CPRT_Ids<"b,l">:$labels, CPRT_Optional<CPRT_I64<"s">>:$rows);
  let outs = (outputs CPRT_Sum<"b,l,s?">:$losses, CPRT_Sum<"b,l,s?">:$lse);
  let attrs = (attributes CPRT_Signed:$ignore_index, CPRT_Int<0>:$vocabulary);
  let isKernel = true;
}

//===----------------------------------------------------------------------===//
// Adjoints: from the cotangents of what an operation gives those of what it
// takes. Sums over tokens are f32 beside bf16.
//===----------------------------------------------------------------------===//

def CPRT_Conv1dGrad : CPRT_Operation<"conv1d_grad"> {
  let description = [{
    Of cprt_conv1d. ds = dy * silu'(s) with silu, where s is its sum, and dy
    without:
      dx[t] = sum_k weight[k] ds[t+(w-1)-k],  dweight[k] = sum ds[t] x[t-(w-1)+k],
      dbias = sum ds[t];
    the initial rows are rows of x before the first, and get their part in
    dinitial. With places nothing goes back over the start of a sequence.
  }];
  let ins = (inputs CPRT_T<"b,l,c">:$x, CPRT_T<"c,w">:$weight,
                    CPRT_T<"b,l,c">:$dy, CPRT_Optional<CPRT_T<"c">>:$bias,
                    CPRT_Optional<CPRT_T<"b,w-1,c">>:$initial,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
  let outs = (outputs CPRT_T<"b,l,c">:$dx, CPRT_Sum<"c,w">:$dweight,
                      CPRT_Sum<"c">:$dbias, CPRT_T<"b,w-1,c">:$dinitial);
  let attrs = (attributes CPRT_Flag:$silu);
  let isKernel = true;
}

def CPRT_SsdGrad : CPRT_Operation<"ssd_grad"> {
  let description = [{
    Of cprt_ssd, from the last token to the first, with G the cotangent of the
    state S behind a token, which is dstate behind the last:
      G += dy C^T,  dC = S^T dy,  dB = G^T (delta x),  d(delta x) = G B,
      d(log a) = a <G, S_before>,  G_before = a G;
    dinitial is what is left in front of the first. A step size that is clamped
    passes nothing on. With places nothing goes back over the start of a
    sequence. States are computed again, by chunks of chunk_size tokens.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$x, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$B,
                    CPRT_T<"b,l,g,n">:$C, CPRT_T<"b,l,h,p">:$dy,
                    CPRT_Optional<CPRT_T<"h,p?">>:$D,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias,
                    CPRT_Optional<CPRT_Sum<"b,h,p,n">>:$initial,
                    CPRT_Optional<CPRT_Sum<"b,h,p,n">>:$dstate,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
  let outs = (outputs CPRT_T<"b,l,h,p">:$dx, CPRT_T<"b,l,h">:$ddt,
                      CPRT_Sum<"h">:$dA_log, CPRT_T<"b,l,g,n">:$dB,
                      CPRT_T<"b,l,g,n">:$dC, CPRT_Sum<"h,p">:$dD,
                      CPRT_Sum<"h">:$ddt_bias, CPRT_Sum<"b,h,p,n">:$dinitial);
  let attrs = (attributes CPRT_Int<1>:$chunk_size, CPRT_Real:$dt_max,
                          CPRT_Real:$dt_min);
  let isKernel = true;
}

def CPRT_SsdGradStates : CPRT_Operation<"ssd_grad_states"> {
  let description = [{
    Of cprt_ssd_grad on these tokens alone: G in front of the first of them, where
    nothing is behind the last. What is behind them, dstate, adds decay dstate to
    it, with the decay of cprt_ssd_states.
  }];
  let ins = (inputs CPRT_T<"b,l,h,p">:$dy, CPRT_T<"b,l,h">:$dt,
                    CPRT_T<"h">:$A_log, CPRT_T<"b,l,g,n">:$C,
                    CPRT_Optional<CPRT_T<"h">>:$dt_bias,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places);
  let outs = (outputs CPRT_Sum<"b,h,p,n">:$dstate);
  let attrs = (attributes CPRT_Int<1>:$chunk_size, CPRT_Real:$dt_max,
                          CPRT_Real:$dt_min);
  let isKernel = true;
}

def CPRT_AttentionGrad : CPRT_Operation<"attention_grad"> {
  let description = [{
    Of cprt_attention where all keys are here, with its results o and lse, their
    cotangents dout and dlse (zeros, where it is not there), and
    w_j = exp(scale q . k_j - lse):
      ds_j = w_j (dout . v_j - dout . o + dlse) scale,
      dq = sum_j ds_j k_j,  dk_j = sum ds_j q,  dv_j = sum w_j dout,
    the last two over all queries that see key j, in f32 for bf16. A query that
    sees no key has no part in them. `positions` say where in the sequence of the keys each query
    stands; without them there are, with causal, as many queries as keys.
  }];
  let ins = (inputs CPRT_T<"b,l,hq,d">:$q, CPRT_T<"b,s,hkv,d">:$k,
                    CPRT_T<"b,s,hkv,e">:$v, CPRT_T<"b,l,hq,e">:$out,
                    CPRT_Sum<"b,hq,l">:$lse, CPRT_T<"b,l,hq,e">:$dout,
                    CPRT_Optional<CPRT_Sum<"b,hq,l">>:$dlse,
                    CPRT_Optional<CPRT_I64<"b,l">>:$places,
                    CPRT_Optional<CPRT_I64<"l">>:$positions);
  let outs = (outputs CPRT_T<"b,l,hq,d">:$dq, CPRT_Sum<"b,s,hkv,d">:$dk,
                      CPRT_Sum<"b,s,hkv,e">:$dv);
  let attrs = (attributes CPRT_Flag:$causal, CPRT_Real:$scale,
                          CPRT_Int<0>:$window);
  let isKernel = true;
}

def CPRT_RmsNormGrad : CPRT_Operation<"rms_norm_grad"> {
  let description = [{
    Of cprt_rms_norm. dweight is as of a weight of ones where there is none; there
    is a dgate where there is a gate.
  }];
  let ins = (inputs CPRT_T<"...,c">:$x, CPRT_T<"...,c">:$dy,
                    CPRT_Optional<CPRT_T<"c">>:$weight,
                    CPRT_Optional<CPRT_T<"...,c">>:$gate);
  let outs = (outputs CPRT_T<"...,c">:$dx, CPRT_Sum<"c">:$dweight,
                      CPRT_Variadic<CPRT_T<"...,c">>:$dgate);
  let attrs = (attributes CPRT_Real:$eps, CPRT_Flag:$gate_first,
                          CPRT_Int<1>:$groups);
  let isKernel = true;
}

def CPRT_EmbeddingGrad : CPRT_Operation<"embedding_grad"> {
  let description = [{
    outs dtable[i, :] = sum of those dy[..., :] whose id is i. An id outside [0, v)
    is CPRT_INVALID_ARGUMENT.
  }];
  let ins = (inputs CPRT_Ids<"...">:$ids, CPRT_T<"...,d">:$dy);
  let outs = (outputs CPRT_Sum<"v,d">:$dtable);
  let isKernel = true;
}

def CPRT_LinearCrossEntropyGrad
    : CPRT_Operation<"linear_cross_entropy_grad"> {
  let description = [{
    Of cprt_linear_cross_entropy, with its lse, and p = exp(z - lse):
      dz[v] = p[v] (dloss + dlse) - (v = label) dloss,
      dh = dz W,  dweight[v] = sum dz[v] h,
    nothing of which is of a token whose label is ignore_index. With `rows`, as
    there, dz[v] = p[v] dlse - (v = label) dloss, with lse and both cotangents of
    the slice.
  }];
  let ins = (inputs CPRT_T<"b,l,d">:$h, CPRT_T<"v,d">:$weight,
                    CPRT_Ids<"b,l">:$labels, CPRT_Optional<CPRT_I64<"s">>:$rows,
                    CPRT_Sum<"b,l,s?">:$lse, CPRT_Sum<"b,l,s?">:$dloss,
                    CPRT_Optional<CPRT_Sum<"b,l,s?">>:$dlse);
  let outs = (outputs CPRT_T<"b,l,d">:$dh, CPRT_Sum<"v,d">:$dweight);
  let attrs = (attributes CPRT_Signed:$ignore_index, CPRT_Int<0>:$vocabulary);
  let isKernel = true;
}

def CPRT_SquaredNorm : CPRT_Operation<"squared_norm"> {
  let description = "outs sum = sum of x[...]^2, in f64.";
  let ins = (inputs CPRT_T<"...">:$x);
  let outs = (outputs CPRT_Tensor<"f64", "">:$sum);
  let isKernel = true;
}

def CPRT_Sum : CPRT_Operation<"sum"> {
  let description = "outs sum = the sum of all ins, in their order.";
  let ins = (inputs CPRT_Variadic<CPRT_Tensor<"f64", "">>:$terms);
  let outs = (outputs CPRT_Tensor<"f64", "">:$sum);
  let isKernel = true;
}

def CPRT_Sgd : CPRT_Operation<"sgd"> {
  let description = [{
    outs updated = param - rate * (scale * grad + weight_decay * param), and a copy
    where scale is NaN. `rounded`, if it is there, is updated in bf16. Results may be the buffers of what they are made of, element by element.
  }];
  let ins = (inputs CPRT_T<"...">:$param, CPRT_T<"...">:$grad,
                    CPRT_Tensor<"f64", "">:$rate, CPRT_Tensor<"f64", "">:$scale);
  let outs = (outputs CPRT_T<"...">:$updated,
                      CPRT_Variadic<CPRT_Tensor<"bf16", "...">>:$rounded);
  let attrs = (attributes CPRT_Real:$weight_decay);
  let isKernel = true;
}

def CPRT_Adamw : CPRT_Operation<"adamw"> {
  let description = [{
    With g = scale * grad, and step counted from 1:
      exp_avg_out = beta1 * exp_avg + (1 - beta1) * g,
      exp_avg_sq_out = beta2 * exp_avg_sq + (1 - beta2) * g^2,
      updated = (1 - rate * weight_decay) * param - rate / (1 - beta1^step)
        * exp_avg_out / (sqrt(exp_avg_sq_out / (1 - beta2^step)) + eps),
    and copies where scale is NaN. `rounded`, if it is there, is updated in bf16. Results may be the buffers of what they are made of, element
    by element.
  }];
  let ins = (inputs CPRT_T<"...">:$param, CPRT_T<"...">:$grad,
                    CPRT_T<"...">:$exp_avg, CPRT_T<"...">:$exp_avg_sq,
                    CPRT_Tensor<"f64", "">:$rate, CPRT_I64<"">:$step,
                    CPRT_Tensor<"f64", "">:$scale);
  let outs = (outputs CPRT_T<"...">:$updated, CPRT_T<"...">:$exp_avg_out,
                      CPRT_T<"...">:$exp_avg_sq_out,
                      CPRT_Variadic<CPRT_Tensor<"bf16", "...">>:$rounded);
  let attrs = (attributes CPRT_Real:$beta1, CPRT_Real:$beta2, CPRT_Real:$eps,
                          CPRT_Real:$weight_decay);
  let isKernel = true;
}

def CPRT_Accumulate : CPRT_Operation<"accumulate"> {
  let description = [{
    outs updated = grad where micro_batch is 0, and else sum + grad. It may be the
    buffer of either, element by element.
  }];
  let ins = (inputs CPRT_T<"...">:$grad, CPRT_T<"...">:$sum,
                    CPRT_I64<"">:$micro_batch);
  let outs = (outputs CPRT_T<"...">:$updated);
  let isKernel = true;
}

#endif // CP_RUNTIME_LOCALOPERATIONS_TD
