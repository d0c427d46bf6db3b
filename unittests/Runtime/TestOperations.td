//===- TestOperations.td - An operation of one's own -------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "cp/Runtime/OperationBase.td"

def TestMix : CPRT_Operation<"test_mix"> {
  let description = "One attribute of each kind, in no order of names.";
  let ins = (inputs CPRT_T<"n">:$x, CPRT_Optional<CPRT_T<"n">>:$bias,
                    CPRT_I64<"n">:$ids, CPRT_Optional<CPRT_T<"n">>:$last);
  let outs = (outputs CPRT_T<"n">:$y);
  let attrs = (attributes CPRT_Real:$scale, CPRT_Words:$places, CPRT_Flag:$flag,
                          CPRT_Signed:$offset, CPRT_Int<2>:$count);
}

def TestPlain : CPRT_Operation<"test_plain"> {
  let outs = (outputs CPRT_T<"n">:$y);
}
