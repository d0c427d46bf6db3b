//===- CPBase.td - Base classes of the ops -----------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPBASE_TD
#define CP_IR_CPBASE_TD

include "cp/IR/CPAttrs.td"
include "cp/IR/CPInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class CP_Op<string name, list<Trait> traits = []>
    : Op<CP_Dialect, name, traits>;

/// Declares that the op has a sharding rule and writes it in its .cpp.
defvar HasShardingRule =
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>;
/// The op becomes a runtime call; where its name is the operation's, what writes
/// the call is made of the runtime's table.
defvar IsRuntimeOp =
    DeclareOpInterfaceMethods<RuntimeOpInterface, ["getRuntimeCall"]>;

/// The op is a step of a plan, or goes along a sequence.
defvar IsPlanStep =
    DeclareOpInterfaceMethods<CollectiveOpInterface, ["getSteps"]>;
defvar GoesAlongSequence = DeclareOpInterfaceMethods<CollectiveOpInterface,
    ["getTransfers", "getBytesSent"]>;

def CP_FloatTensor : RankedTensorOf<[AnyFloat]>;
class CP_FloatTensorOfRank<int rank> : TensorRankOf<[AnyFloat], [rank]>;

/// `[b, l]`: where each row stands in the sequence that it belongs to, when
/// several follow each other in one (packed documents). 0 starts one, -1 is no
/// token.
defvar CP_Places = TensorRankOf<[I64], [2]>;

/// Where the documents in each element of the batch end, `cu_seqlens`.
defvar CP_Documents = TensorRankOf<[I32], [2]>;

/// How a layer is cut, where that differs from the option of the pass.
def CP_IsStrategy : AttrConstraint<
    CPred<"::cp::symbolizeCutStrategy("
          "::llvm::cast<::mlir::StringAttr>($_self).getValue()).has_value()">,
    "\"hidden\", \"sequence\" or \"2d\"">;
def CP_StrategyAttr : ConfinedAttr<StrAttr, [CP_IsStrategy]>;

/// The private resource that collectives read. Reading it keeps them in their
/// order, out of branches that only some ranks take, and still lets equal or
/// unused ones go.
def CP_CommunicationResource : Resource<"::cp::CommunicationResource">;
defvar Communicates = MemoryEffects<[MemRead<CP_CommunicationResource>]>;

#endif // CP_IR_CPBASE_TD
