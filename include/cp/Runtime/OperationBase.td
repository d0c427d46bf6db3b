//===- OperationBase.td - What an operation is declared by -*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of the runtime is declared once, and `cp-tblgen` makes what
// writes its calls, reads them, and checks how many tensors they have, and their
// words. Types and sizes are checked where kernels read tensors of fixed ranks. It
// serves operations of your own as well: `cp-tblgen -gen-c-readers` of such a
// table gives a C header.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_OPERATIONBASE_TD
#define CP_RUNTIME_OPERATIONBASE_TD

/// A tensor that an operation reads or writes. `type` is "T", the type that the
/// call is made for, "sum", which is f32 beside a T of bf16 and T otherwise, an
/// element type, "id" (i32 or i64), or "any". `sizes` are names that tensors
/// share, "n-1" of one that an earlier tensor has, "ceil(l/chunk_size)" of one by
/// an attribute, and "..." for any number of leading ones; the first or the last
/// may have a ? behind it, and is then left out by those tensors that do not
/// depend on it.
class CPRT_Tensor<string elementType, string tensorSizes> {
  string type = elementType;
  string sizes = tensorSizes;
  bit isOptional = false;
  bit isVariadic = false;
}

class CPRT_T<string sizes> : CPRT_Tensor<"T", sizes>;
class CPRT_Sum<string sizes> : CPRT_Tensor<"sum", sizes>;
class CPRT_I64<string sizes> : CPRT_Tensor<"i64", sizes>;
class CPRT_Ids<string sizes> : CPRT_Tensor<"id", sizes>;
class CPRT_Any<string sizes> : CPRT_Tensor<"any", sizes>;

/// An input that a call may leave out. Not beside variadic ones.
class CPRT_Optional<CPRT_Tensor tensor>
    : CPRT_Tensor<tensor.type, tensor.sizes> {
  let isOptional = true;
}

/// Any number of tensors. What is behind one cannot be told from it by place, so
/// the operation checks their number itself.
class CPRT_Variadic<CPRT_Tensor tensor>
    : CPRT_Tensor<tensor.type, tensor.sizes> {
  let isVariadic = true;
}

/// An attribute. Its kind says how many words it takes, and what they must be.
class CPRT_Attribute<string attributeKind> {
  string kind = attributeKind;
  /// The least integer; not asked of other kinds.
  int least = 0;
}

/// 0 or 1.
def CPRT_Flag : CPRT_Attribute<"flag">;
/// An integer of at least `low`.
class CPRT_Int<int low> : CPRT_Attribute<"integer"> {
  let least = low;
}
/// An integer of either sign.
def CPRT_Signed : CPRT_Attribute<"signed">;
/// The bits of a double, no NaN.
def CPRT_Real : CPRT_Attribute<"real">;
/// A number of words, and the words.
def CPRT_Words : CPRT_Attribute<"words">;
/// The positions of mesh axes, as words.
def CPRT_Axes : CPRT_Attribute<"axes">;
/// In which order a dimension is cut: one word.
def CPRT_Order : CPRT_Attribute<"order">;
/// The same, or -1 or -3: per document of a packed row.
def CPRT_OrderOfDocuments : CPRT_Attribute<"order"> {
  let least = -3;
}
/// The order of each of several cuts, as words.
def CPRT_Orders : CPRT_Attribute<"orders">;

// What holds the tensors and attributes of an operation, each with its name.
def inputs;
def outputs;
def attributes;

/// `cprt_<symbol>`. A call has the tensors and the words of the attributes in the
/// order in which they are listed here. Optional inputs that a call leaves out
/// keep their place, but at the end of the list.
class CPRT_Operation<string operationSymbol> {
  string symbol = operationSymbol;
  /// What it computes. Its tensors and attributes are listed below it.
  string description = "";
  dag ins = (inputs);
  dag outs = (outputs);
  dag attrs = (attributes);

  /// It is a kernel of the same name, on one rank.
  bit isKernel = false;
  /// It moves and adds elements and looks at none, so it can be traced.
  bit onlyMoves = false;
  /// `getRuntimeCall` of the dialect's op of the same name is made; one that
  /// writes its own, or that there is not, needs none.
  bit hasMethod = true;
  /// It is handed a function, and its symbol ends in `_with`.
  bit takesFunction = false;
}

#endif // CP_RUNTIME_OPERATIONBASE_TD
