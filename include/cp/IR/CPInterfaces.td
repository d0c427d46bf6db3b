//===- CPInterfaces.td - What passes ask an op -------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPINTERFACES_TD
#define CP_IR_CPINTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    How the dimensions of operands and results correspond. Layouts flow along
    it, it is what `cp-verify-layouts` checks, and an op without it may not see
    a value that is cut. Attached from outside to upstream ops
    (`registerShardingRuleModels`).
  }];
  let methods = [
    InterfaceMethod<[{
      The rule for this op with its present operands; fails, after an error on
      the op, when it has none (a contraction that is not a projection, say).
    }], "::llvm::FailureOr<::cp::ShardingRule>", "getShardingRule">,
    InterfaceMethod<[{
      Makes the op fit results whose types have become those of one rank: sizes
      that stand in attributes, such as a slice's. Where a share of the whole has
      to be told (of `groups` of `cp.rms_norm`, say), operands still are whole
      when results are not.
    }], "void", "localizeSizes", (ins), [{}], [{ return; }]>,
  ];
}

def SequenceOpInterface : OpInterface<"SequenceOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    An op that depends along a sequence dimension. How it does is said by one more
    interface, of which there is one a kind: it reads a *window* of neighbouring
    rows, a *scan* runs its state through the whole sequence, or it is *placed*: it
    needs to know where in the sequence its rows stand. One partitioner serves
    every op that answers these. An op of no kind needs the sequence whole: it is
    cut along its hidden factor, and where the ranks cannot share that evenly each
    of them does all of it.
  }];
  let methods = [
    InterfaceMethod<[{
      The factor of the sharding rule that is the sequence.
    }], "int64_t", "getSequenceFactor", (ins), [{}], [{ return 1; }]>,
    InterfaceMethod<[{
      The factor that may be cut instead of the sequence without any exchange
      inside the op: channels, heads or groups of heads. -1 for none: it is cut
      along the sequence alone.
    }], "int64_t", "getHiddenFactor", (ins), [{}], [{ return 2; }]>,
    InterfaceMethod<[{
      How the op is cut, if it says so itself.
    }], "::std::optional<::cp::CutStrategy>", "getCutStrategy", (ins), [{}], [{
      auto text = $_op->template getAttrOfType<::mlir::StringAttr>("strategy");
      return text ? ::cp::symbolizeCutStrategy(text.getValue()) : ::std::nullopt;
    }]>,
    InterfaceMethod<[{
      Whether the op can run on a sequence that these cut, each over several ranks;
      there is one or more. By default a placed op can on any, and others where a
      rank's rows are few strings of neighbours (`partsPerRank`); what these say can
      only be less.
    }], "bool", "canRunOn", (ins "::llvm::ArrayRef<::cp::Cut>":$cuts), [{}],
        [{ return ::cp::canRunByDefault($_op, cuts); }]>,
    InterfaceMethod<[{
      Makes the hidden factor a multiple of `parts`, by repeating groups that several
      heads share and by heads of zeros. Fails, after an error on the op, where
      there are fewer heads than parts.
    }], "::llvm::LogicalResult", "prepareHiddenCut",
        (ins "::mlir::OpBuilder &":$builder, "int64_t":$parts),
        [{}], [{ return ::mlir::success(); }]>,
  ];
}

def WindowOpInterface
    : OpInterface<"WindowOpInterface", [SequenceOpInterface]> {
  let cppNamespace = "::cp";
  let description = [{
    An output row reads its own row of one operand and some before it, as a causal
    convolution does; in reverse, some behind it. Cut along the sequence, the op
    gets those of other ranks from a `cp.halo`.
  }];
  let methods = [
    InterfaceMethod<"How many rows beside its own an output row reads.",
        "int64_t", "getWindowRows">,
    InterfaceMethod<"Whether these stand behind its own.", "bool", "isReverse",
        (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"The operand whose rows are read.",
        "::mlir::OpOperand &", "getWindowOperand", (ins), [{}],
        [{ return $_op->getOpOperand(0); }]>,
    InterfaceMethod<[{
      The rows before the sequence's first, in reverse those behind its last, or
      null for zeros.
    }], "::mlir::Value", "getInitialRows", (ins), [{}], [{ return nullptr; }]>,
    InterfaceMethod<"Makes the op read `rows` as these.", "void",
        "setInitialRows", (ins "::mlir::Value":$rows)>,
  ];
}

def ScanOpInterface : OpInterface<"ScanOpInterface", [SequenceOpInterface]> {
  let cppNamespace = "::cp";
  let description = [{
    A state runs through the sequence, from its first row to its last; in reverse,
    from its last to its first.

    What a run of tokens does to the state is its summary, a list of tensors, and
    `cp.scan_state` carries summaries over ranks. As a rule a summary is a pair: the
    state becomes `decay * state + E`, where `decay`'s sizes are a prefix of the
    state's, and pairs combine as `(d1, E1) + (d2, E2) = (d1 d2, d2 E1 + E2)`. An
    op whose summaries are other things, as a matrix in place of the decay, says
    how they combine (`getCombine`) and what they do to a state (`advance`).
  }];
  let methods = [
    InterfaceMethod<[{
      The first half, on this rank's tokens alone. `kept` is what `apply`
      needs again, so that the state work is done once. In zigzag order a rank has
      two parts of the sequence, which the op then sees as two elements of the
      batch dimension in front of it: for that, the batch is the first dimension
      of the summary too.
    }], "::cp::ScanSummary", "summarize", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
      The second half. `prefix` is the combined summary of all ranks that the state
      comes from. Returns a replacement for each result; null for the final state,
      and for one that cannot be had on a part of the sequence.
    }], "::llvm::SmallVector<::mlir::Value>", "apply",
        (ins "::mlir::OpBuilder &":$builder,
             "const ::cp::ScanSummary &":$own,
             "const ::cp::ScanSummary &":$prefix)>,
    InterfaceMethod<[{
      How two summaries become one, or null for a decay and a state.
    }], "::cp::CombineAttr", "getCombine", (ins), [{}], [{ return nullptr; }]>,
    InterfaceMethod<[{
      The state behind tokens with the summary `summary`, which may be of all
      ranks: that of `cp.scan_state`, so without what is kept. `before` is the state
      in front of them, of the type of an initial one, or null for zeros. By default
      `decay * before + E`, and null, for not known, where there is a combine.
    }], "::mlir::Value", "advance",
        (ins "::mlir::OpBuilder &":$builder,
             "::mlir::ValueRange":$summary, "::mlir::Value":$before),
        [{}], [{
      if (::llvm::cast<::cp::ScanOpInterface>($_op.getOperation()).getCombine())
        return nullptr;
      return ::cp::advanceByDecay(builder, $_op->getLoc(), summary, before);
    }]>,
    InterfaceMethod<"Whether the state runs from the last row to the first.",
        "bool", "isReverse", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      The state that the scan starts from, at the first row or in reverse at the
      last, or null for zeros.
    }], "::mlir::Value", "getInitialState", (ins), [{}], [{ return nullptr; }]>,
    InterfaceMethod<[{
      The result that is the state with which it ends, or null if there is none.
      Where it is used on a cut sequence, it is what `advance` makes of
      `getInitialState` and the summary of the whole sequence.
    }], "::mlir::Value", "getFinalState", (ins), [{}], [{ return nullptr; }]>,
    InterfaceMethod<"How summaries travel over ranks, if the op says so.",
        "::std::optional<::cp::ScanAlgorithm>", "getScanAlgorithm", (ins), [{}],
        [{ return ::std::nullopt; }]>,
    InterfaceMethod<"Makes the op say how summaries travel.", "void",
        "setScanAlgorithm", (ins "::cp::ScanAlgorithm":$algorithm), [{}],
        [{ return; }]>,
  ];
}

def PlacedOpInterface
    : OpInterface<"PlacedOpInterface", [SequenceOpInterface]> {
  let cppNamespace = "::cp";
  let description = [{
    An op that needs to know where in the whole sequence its rows stand, such as
    attention, in which all rows meet. It has a local form that does.
  }];
  let methods = [
    InterfaceMethod<[{
      The local form for a sequence that `cuts`, of which there is one or more, cut
      on `mesh`. Returns a replacement for each result.
    }], "::llvm::SmallVector<::mlir::Value>", "place",
        (ins "::mlir::OpBuilder &":$builder, "::cp::MeshAttr":$mesh,
             "::llvm::ArrayRef<::cp::Cut>":$cuts)>,
    InterfaceMethod<[{
      Whether no row of the results depends on rows behind its own. Sequences that
      ranks do not divide get rows behind their last one, which others may not see.
    }], "bool", "isCausal", (ins), [{}], [{ return false; }]>,
  ];
}

def RuntimeOpInterface : OpInterface<"RuntimeOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    Ops that become one call into the runtime. `convert-cp-to-calls` needs no
    more than this to lower any of them.
  }];
  let methods = [
    InterfaceMethod<[{
      The runtime's symbol without its prefix: "conv1d" for `cprt_conv1d`. It does
      not end in `_with`.
    }], "::llvm::StringRef", "getRuntimeSymbol", (ins), [{}],
        [{ return $_op->getName().stripDialect(); }]>,
    InterfaceMethod<[{
      The symbol, without its prefix, of a function that the call is handed, or
      nothing. With one, "scan_state" is for `cprt_scan_state_with`; no other call
      of the runtime has such a form.
    }], "::llvm::StringRef", "getRuntimeCallback", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      Writes the inputs of the call, where they are not all operands in their order,
      and its attributes: integers, bools, floats, arrays of integers. They reach
      the runtime in the order in which they are written.
    }], "void", "getRuntimeCall",
        (ins "::cp::RuntimeCall &":$call), [{}], [{ return; }]>,
  ];
}

def UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    What an optimizer does to one parameter, element by element: each result may lie
    where the operand lay that it is a new value of. The gradient gets the layout of
    what it changes; sums over ranks are made there, and not where they arise.
  }];
  let methods = [
    InterfaceMethod<"What is changed.", "::mlir::Value", "getParam">,
    InterfaceMethod<"The gradient by it.", "::mlir::Value", "getGrad">,
  ];
}

def GroupOpInterface : OpInterface<"GroupOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    Local ops over a group of ranks: all those of the mesh that differ in their
    positions on the group's axes only.
  }];
  let methods = [
    InterfaceMethod<"The mesh of all ranks.", "::cp::MeshAttr", "getMesh">,
    InterfaceMethod<[{
      The names of the group's axes, major to minor.
    }], "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<[{
      The number of ranks that take part. Asked of verified axes only.
    }], "int64_t", "getGroupSize", (ins), [{}],
        [{ return ::cp::groupSize($_op.getMesh(), $_op.getAxes()); }]>,
  ];
}

def CollectiveOpInterface
    : OpInterface<"CollectiveOpInterface", [GroupOpInterface]> {
  let cppNamespace = "::cp";
  let description = [{
    Ops of the local view through which tensors travel, and `cp.slice`, by which
    nothing does. What they move is asked of verified ops with static shapes.
  }];
  let methods = [
    InterfaceMethod<[{
      The step of a plan that each operand goes through. Empty where values go
      along a sequence: halos, scans, shifts and rings are in no plan.
    }], "::llvm::SmallVector<::cp::TensorStep>", "getSteps", (ins), [{}],
        [{ return {}; }]>,
    InterfaceMethod<[{
      What happens to each tensor.
    }], "::llvm::SmallVector<::cp::Transfer>", "getTransfers", (ins), [{}],
        [{ return ::cp::transfersOf($_op.getMesh(), $_op.getSteps()); }]>,
    InterfaceMethod<[{
      What the rank at each position of the group sends to others, in bytes; the
      runtime counts the same. The largest int64_t where that does not fit.
    }], "::llvm::SmallVector<int64_t>", "getBytesSent", (ins), [{}], [{
      return ::cp::bytesSentBy($_op.getMesh(), $_op.getAxes(), $_op.getSteps());
    }]>,
  ];
}

def ExchangeOpInterface : OpInterface<"ExchangeOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    Collectives over several tensors. Two with one route can travel as one
    exchange (`cp-merge-exchanges`).
  }];
  let methods = [
    InterfaceMethod<[{
      What two exchanges must have in common to be merged.
    }], "::mlir::Attribute", "getRoute">,
    InterfaceMethod<[{
      One exchange, created at the builder's place, that does the work of this
      one and then of `next`, which has the same route.
    }], "::mlir::Operation *", "mergeWith",
        (ins "::mlir::OpBuilder &":$builder, "::mlir::Operation *":$next)>,
  ];
}

#endif // CP_IR_CPINTERFACES_TD
