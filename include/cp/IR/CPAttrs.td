//===- CPAttrs.td - Meshes, layouts, enums -----------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPATTRS_TD
#define CP_IR_CPATTRS_TD

include "cp/IR/CPDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class CP_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<CP_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def CP_MeshAttr : CP_Attr<"Mesh", "mesh"> {
  let summary = "Ranks arranged on named axes";
  let description = [{
    Axes are listed major first: the last one varies fastest with the rank. An
    attribute and not a symbol, so that a type can hold it.

    ```mlir
    #mesh = #cp.mesh<"dp" = 2, "cp" = 4>
    func.func private @f(tensor<8x16xf32, #cp.layout<#mesh, [{"dp"}, {"cp"} ]>>)
    ```
  }];
  let parameters = (ins ArrayRefParameter<"mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same as a value of the layout algebra.
    ::cp::Mesh toMesh() const;
    static MeshAttr get(mlir::MLIRContext *context, const ::cp::Mesh &mesh);
    /// The position of the named axis, or -1.
    int findAxis(mlir::StringAttr name) const;
  }];
}

def CP_CutAttr : CP_Attr<"Cut", "cut"> {
  let summary = "How one mesh axis cuts a dimension";
  let description = [{
    The axis, its order (`contiguous`, the default and not printed, `zigzag`,
    `striped`, `zigzag_per_document`, `contiguous_per_document` or `sizes` with its
    list) and, after a colon, its unit: runs of that many elements are never
    divided (the default 1 is not printed). Of R ranks along the axis, rank r holds

    | order        | of a dimension                                          |
    |--------------|---------------------------------------------------------|
    | `contiguous` | block r of R                                            |
    | `zigzag`     | blocks r and 2R-1-r of 2R, an early and a late one      |
    | `striped`    | runs r, r+R, r+2R, ... of as many elements as the unit  |
    | `zigzag_per_document` | of each document of a packed row what zigzag gives |
    | `contiguous_per_document` | block r of R of each document of a packed row |
    | `sizes [s0, s1, ...]` | block r, of sr elements                        |

    In `zigzag_per_document` all ranks have as much attention in documents of any
    length, but for the last n mod 2R tokens of a document of n: these are shared
    out behind each other in R blocks. In `contiguous_per_document` n mod R
    blocks of a document are one longer, the first of them behind the last longer
    one of the document before. Either way ranks have as many tokens. Where these
    are is known when the program runs, to ops that have the documents, and what is
    said of layouts without them (bytes, traces) is said of a row that is one
    document. Behind such a cut others may be, contiguous ones: `{"ring"
    zigzag_per_document, "u"}` cuts what a rank of the ring has once more.

    In `sizes` parts are as large as whoever cut the tensor made them, and a
    dimension needs to divide by nothing: 10 elements over 3 ranks are `sizes [4,
    3, 3]` with the remainder first. Every rank has room for the largest part, of
    which the others use the first elements. Collectives take and make such parts,
    and what goes element by element passes them on; what adds up over them, or
    depends along a sequence, needs another layout. Behind contiguous cuts it lists
    the ranks on all of their axes, major to minor: on 2 x 2 ranks 6 elements may be
    `{"a", "b" sizes [2, 2, 1, 1]}`.

    Lists of cuts, major to minor, stand in layouts, and behind `over`, `from` and
    `to` of local ops; there they are written without `#cp.cut`. What the major cut
    leaves to a rank is one string of elements, and the next cut cuts that string.

    Constraints:
    - layout_c3: the unit is at least 1, and below 2^63 - 1;
    - layout_c7: the order is one of these;
    - layout_c8: an order per document has no unit and is that of the first cut
      of its dimension, with contiguous ones behind; `sizes` is that of the last,
      with contiguous ones in front;
    - layout_c9: `sizes` has one for each rank on the axes of its dimension, none
      below 0, and no unit.

    ```mlir
    #mesh = #cp.mesh<"ring" = 2, "u" = 4>
    func.func @places() -> tensor<16xi64> attributes {
        cp.view = "local", notes = [#cp.cut<"ring" zigzag>,
                                    #cp.cut<"ring" sizes [4, 7]>]} {
      %0 = cp.cut_positions over ["ring" zigzag, "u"] of #mesh : tensor<16xi64>
      return %0 : tensor<16xi64>
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "::cp::Order":$order,
                        "int64_t":$unit, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same as a value of the layout algebra; its axis is -1 when `mesh` has
    /// none of that name.
    ::cp::Cut toCut(MeshAttr mesh) const;
    static CutAttr get(MeshAttr mesh, const ::cp::Cut &cut);
    /// The contiguous cut over an axis.
    static CutAttr getContiguous(::mlir::StringAttr axis);
    /// What stands between the brackets.
    static mlir::FailureOr<CutAttr> parseBody(mlir::AsmParser &parser);
    void printBody(mlir::AsmPrinter &printer) const;
  }];
}
/// The cuts of one dimension, major to minor.
def CP_CutArrayAttr : TypedArrayAttrBase<CP_CutAttr, "cuts of a dimension">;
/// One for each operand.
def CP_CutOfEachAttr : TypedArrayAttrBase<CP_CutAttr, "a cut for each operand">;

def CP_LayoutAttr : CP_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Where the elements of a whole tensor live";
  let description = [{
    The encoding of a tensor whose shape is the global one. Per dimension, in
    braces, its cuts, major to minor, as in `#cp.cut`. `partial` names axes over
    which the ranks' values have yet to be added. Axes that are not named hold
    replicas.

    ```mlir
    #mesh = #cp.mesh<"ring" = 2, "u" = 4>
    // Sequence cut over both axes, Ulysses inside a zigzag ring.
    #sequence = #cp.layout<#mesh, [{}, {"ring" zigzag, "u"}, {} ]>
    // Heads of 64 channels cut over "u", a sum over "ring" still to be made.
    #heads = #cp.layout<#mesh, [{}, {}, {"u" : 64} ], partial = {"ring"}>
    // Tokens dealt out over "ring" one by one.
    #striped = #cp.layout<#mesh, [{}, {"ring" striped}, {} ]>
    // Of 61 tokens one rank has 20, the other 41.
    #given = #cp.layout<#mesh, [{}, {"ring" sizes [20, 41]}, {} ]>
    func.func private @f(tensor<1x64x512xf32, #sequence>)
    func.func private @g(tensor<1x64x512xf32, #heads>)
    func.func private @h(tensor<1x61x512xf32, #given>)
    ```
  }];
  let parameters = (ins "::cp::MeshAttr":$mesh,
                        // Of #cp.cut, one list a dimension.
                        ArrayRefParameter<"mlir::ArrayAttr">:$cuts,
                        ArrayRefParameter<"int64_t">:$partial);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same as a value of the layout algebra.
    ::cp::Layout toLayout() const;
    static LayoutAttr get(mlir::MLIRContext *context,
                          const ::cp::Layout &layout);
    /// Every dimension whole, no partial axes.
    static LayoutAttr getReplicated(MeshAttr mesh, int64_t rank);
    int64_t getRank() const { return getCuts().size(); }
    bool isReplicated() const;
    /// The type of one rank's part of `type`, without encoding.
    static mlir::RankedTensorType getLocalType(mlir::RankedTensorType type);
    /// The layout of a tensor type, or null.
    static LayoutAttr of(mlir::Type type);
  }];
}

def CP_CutStrategy : I64EnumAttr<"CutStrategy",
    "Which factor of an op the axes of the sequence cut: the hidden one (channels "
    "or heads), the sequence, or the last axis the hidden one and the others the "
    "sequence", [
      I64EnumAttrCase<"Hidden", 0, "hidden">,
      I64EnumAttrCase<"Sequence", 1, "sequence">,
      I64EnumAttrCase<"TwoD", 2, "2d">]> {
  let cppNamespace = "::cp";
  let genSpecializedAttr = 0;
}

def CP_AttentionForm : I64EnumAttr<"AttentionForm",
    "What of attention travels: all of it to where heads are cut (ulysses), keys "
    "and values from rank to rank (ring), to every rank (gather), or the first two "
    "on two axes (2d)", [
      I64EnumAttrCase<"Ulysses", 0, "ulysses">,
      I64EnumAttrCase<"Ring", 1, "ring">,
      I64EnumAttrCase<"Gather", 2, "gather">,
      I64EnumAttrCase<"TwoD", 3, "2d">]> {
  let cppNamespace = "::cp";
  let genSpecializedAttr = 0;
}

def CP_GradScale : I64EnumAttr<"GradScale",
    "How the cotangent of a gather or a slice is scaled by the size of the group: "
    "multiplied (up), divided (down), or not at all (none)", [
      I64EnumAttrCase<"Up", 0, "up">,
      I64EnumAttrCase<"Down", 1, "down">,
      I64EnumAttrCase<"None", 2, "none">]> {
  let cppNamespace = "::cp";
  let genSpecializedAttr = 0;
}

def CP_ScanAlgorithm : I64EnumAttr<"ScanAlgorithm",
    "How summaries travel in an exclusive scan over ranks", [
      I64EnumAttrCase<"Chain", 0, "chain">,
      I64EnumAttrCase<"Gather", 1, "gather">,
      I64EnumAttrCase<"Doubling", 2, "doubling">,
      I64EnumAttrCase<"Pipelined", 3, "pipelined">,
      I64EnumAttrCase<"Transposed", 4, "transposed">]> {
  let cppNamespace = "::cp";
  let genSpecializedAttr = 0;
}
def CP_ScanAlgorithmAttr
    : EnumAttr<CP_Dialect, CP_ScanAlgorithm, "scan_algorithm"> {
  let assemblyFormat = "`<` $value `>`";
  let description = [{
    For R ranks and a summary of m bytes, which are states S and a few decays D:

    | name         | a rank sends at most    | serial steps              |
    |--------------|-------------------------|---------------------------|
    | `chain`      | m                       | R-1                       |
    | `gather`     | (R-1) m                 | 1                         |
    | `doubling`   | ceil(log2 R) m + m      | ceil(log2 R) + 1          |
    | `pipelined`  | m                       | R-1 + K-1, of m/K each    |
    | `transposed` | 2(R-1)/R S + (R-1) D    | 2                         |

    `chain`: each rank hands its inclusive prefix to the next. `gather`: all
    summaries go to all ranks and are folded there. `doubling`: each rank takes in
    ever longer runs of its predecessors. `pipelined`: the chain in K blocks, for
    many ranks and large states. `transposed`: each rank folds one slice of the
    states for all ranks, between two exchanges of all with all (where R does not
    divide the states, some slices are one longer).

    All but `doubling` add from left to right, so they give the same bits.

    ```mlir
    #chain = #cp.scan_algorithm<chain>
    func.func private @f() attributes {cp_scan = #chain}
    ```
  }];
}

def CP_CombineAttr : CP_Attr<"Combine", "combine"> {
  let summary = "How two summaries of a scan become one";
  let description = [{
    The runtime's symbol, without its prefix, of what combines summaries, and how
    many dimensions they all begin with that count units, such as batch and head:
    each unit combines alone. `cprt_scan_state_with` in cprt.h says what the
    function is given. It must be associative, and is given first the summary of
    the tokens through which the state runs first (in reverse the later ones), so
    it need not commute.

    Constraints:
    - combine_c1: the symbol is not empty and does not end in `_with`, and the
      number of dimensions is not below zero.

    ```mlir
    // S = A S + E with a matrix A for each batch and head: A1, E1 and A2, E2
    // become A2 A1 and A2 E1 + E2.
    #combine = #cp.combine<"delta_combine", batch_dims = 2>
    #mesh = #cp.mesh<"cp" = 4>
    func.func @prefix(%a: tensor<1x2x8x8xf32>, %e: tensor<1x2x8x16xf32>)
        -> tensor<1x2x8x16xf32> attributes {cp.view = "local"} {
      %0:2 = cp.scan_state %a, %e over ["cp"] of #mesh {combine = #combine}
          : tensor<1x2x8x8xf32>, tensor<1x2x8x16xf32>
      return %0#1 : tensor<1x2x8x16xf32>
    }
    ```
  }];
  let parameters = (ins StringRefParameter<"the runtime's symbol">:$symbol,
                        "int64_t":$batchDims);
  let assemblyFormat = "`<` $symbol `,` `batch_dims` `=` $batchDims `>`";
  let genVerifyDecl = 1;
}

def CP_ConfigAttr : CP_Attr<"Config", "config"> {
  let summary = "The attributes of a runtime call, in their order";
  let description = [{
    Bools, integers, floats and arrays of integers, each with its name. A dictionary
    would sort them, but they reach the runtime in the order in which they stand
    here. `cp.call` has one, and prints its braces only.

    Constraints:
    - config_c1: no name is given twice.

    ```mlir
    func.func @repeats(%x: memref<4xf32>, %y: memref<8xf32>) {
      cp.call "repeat" ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
          {dim = 0 : i64, times = 2 : i64, unit = 1 : i64}
      return
    }
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::NamedAttribute">:$entries);
  let extraClassDeclaration = [{
    /// The attribute of this name, or null.
    ::mlir::Attribute find(::llvm::StringRef name) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // CP_IR_CPATTRS_TD
