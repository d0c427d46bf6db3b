//===- Operations.td - What the runtime does for gated -----*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "cp/Runtime/OperationBase.td"

class GatedOperation<string symbol> : CPRT_Operation<"gated_" # symbol> {
  let hasMethod = false;
}

def Recurrence : GatedOperation<"recurrence"> {
  let description = "h_t = gate_t h_{t-1} + x_t; in reverse from h_{t+1}.";
  let ins = (inputs CPRT_T<"b,l,c">:$gate, CPRT_T<"b,l,c">:$x,
                    CPRT_Optional<CPRT_T<"b,c">>:$initial);
  let outs = (outputs CPRT_T<"b,l,c">:$h);
  let attrs = (attributes CPRT_Flag:$reverse);
}

def Summary : GatedOperation<"summary"> {
  let description = "The product of the gates, and the last h from zero.";
  let ins = (inputs CPRT_T<"b,l,c">:$gate, CPRT_T<"b,l,c">:$x);
  let outs = (outputs CPRT_T<"b,c">:$decay, CPRT_T<"b,c">:$state);
  let attrs = (attributes CPRT_Flag:$reverse);
}

def Window : GatedOperation<"window"> {
  let description = "y_t = sum_k (k + 1) x_{t-k}; in reverse of x_{t+k}.";
  let ins = (inputs CPRT_T<"b,l,c">:$x, CPRT_Optional<CPRT_T<"b,n,c">>:$initial);
  let outs = (outputs CPRT_T<"b,l,c">:$y);
  // The order of names would be another.
  let attrs = (attributes CPRT_Int<0>:$rows, CPRT_Flag:$reverse);
}

def Shift : GatedOperation<"shift"> {
  let description = "y_t = x_{t-1}; in reverse x_{t+1}.";
  let ins = (inputs CPRT_T<"b,l,c">:$x, CPRT_Optional<CPRT_T<"b,n,c">>:$initial);
  let outs = (outputs CPRT_T<"b,l,c">:$y);
  let attrs = (attributes CPRT_Flag:$reverse);
}

def Delta : GatedOperation<"delta"> {
  let description = "The gated delta rule; see Gated.td.";
  let ins = (inputs CPRT_T<"b,l,h,d">:$q, CPRT_T<"b,l,h,d">:$k,
                    CPRT_T<"b,l,h,e">:$v, CPRT_T<"b,l,h">:$gate,
                    CPRT_T<"b,l,h">:$beta,
                    CPRT_Optional<CPRT_T<"b,h,d,e">>:$initial);
  let outs = (outputs CPRT_T<"b,l,h,e">:$o, CPRT_T<"b,h,d,e">:$state);
  let attrs = (attributes CPRT_Flag:$reverse);
}

def DeltaSummary : GatedOperation<"delta_summary"> {
  let description = "The product of the matrices, and the last S from zero.";
  let ins = (inputs CPRT_T<"b,l,h,d">:$k, CPRT_T<"b,l,h,e">:$v,
                    CPRT_T<"b,l,h">:$gate, CPRT_T<"b,l,h">:$beta);
  let outs = (outputs CPRT_T<"b,h,d,d">:$matrix, CPRT_T<"b,h,d,e">:$state);
  let attrs = (attributes CPRT_Flag:$reverse);
}

def Advance : GatedOperation<"advance"> {
  let description = "matrix * before + state";
  let ins = (inputs CPRT_T<"b,h,d,d">:$matrix, CPRT_T<"b,h,d,e">:$state,
                    CPRT_T<"b,h,d,e">:$before);
  let outs = (outputs CPRT_T<"b,h,d,e">:$after);
}

/// Of u units. Without inputs its outputs are the summary of no tokens.
def DeltaCombine : GatedOperation<"delta_combine"> {
  let description = "(M1, S1) + (M2, S2) = (M2 M1, M2 S1 + S2), and (I, 0).";
  let ins = (inputs CPRT_Optional<CPRT_T<"u,d,d">>:$matrix1,
                    CPRT_Optional<CPRT_T<"u,d,e">>:$state1,
                    CPRT_Optional<CPRT_T<"u,d,d">>:$matrix2,
                    CPRT_Optional<CPRT_T<"u,d,e">>:$state2);
  let outs = (outputs CPRT_T<"u,d,d">:$matrix, CPRT_T<"u,d,e">:$state);
}
