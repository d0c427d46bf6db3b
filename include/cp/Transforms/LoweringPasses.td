//===- LoweringPasses.td - From a rank's program to calls --*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_LOWERINGPASSES_TD
#define CP_TRANSFORMS_LOWERINGPASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToCalls : Pass<"convert-cp-to-calls", "::mlir::func::FuncOp"> {
  let summary = "Turn runtime ops and contractions into destination-style calls";
  let description = [{
    Each op with `RuntimeOpInterface` becomes a `cp.call` into fresh tensors. A
    contraction of the last dimension with a matrix becomes `matmul`, which
    overwrites its result when the accumulator is a zero fill. See
    test/Transforms/convert-to-calls.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::tensor::TensorDialect"];
}

def PrepareEntry : Pass<"cp-prepare-entry", "::mlir::func::FuncOp"> {
  let summary = "Make results arguments that are written, and protect the others";
  let description = [{
    The caller owns every buffer: each result becomes a memref argument, and no
    other argument may be written in place. What several ops would write to, a
    tensor without values or of one value, is made for each of them, and what very many
    calls read is several values of one buffer, since the choice of buffers holds each
    reader of a value against all others. Ops whose loops never run are dropped.
    Loops and branches are refused (`entry_c1`), and so are ops of which upstream makes no loops
    (`entry_c2`).

    Where a result has `cp.updates`, the argument of that name becomes a memref in its
    place, and is written where it lies. Two new values of one argument, one of an
    argument that is not there or of another type, and reads of the old value behind
    the op that makes the new one are refused (`entry_c3`). See
    test/Transforms/prepare-entry.mlir.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SplitSums : Pass<"cp-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Make long sums of short ones";
  let description = [{
    A structured op that adds up `least` terms or more, as the loss of a sequence and
    the gradient of a bias do, becomes one that adds up parts, side by side, and one
    that adds these up, both of about as many terms as the root of all of them. So
    what rounding takes off grows with that root, a count goes on behind 2^24, where
    f32 stands still, and a device has a thread for each part.

    ```mlir
    // Becomes a sum of 1x64x64 to 64 numbers, and one of these.
    func.func @loss(%x: tensor<1x4096xf32>, %zero: tensor<f32>) -> tensor<f32> {
      %sum = linalg.generic {
          indexing_maps = [affine_map<(b, l) -> (b, l)>, affine_map<(b, l) -> ()>],
          iterator_types = ["reduction", "reduction"]}
          ins(%x : tensor<1x4096xf32>) outs(%zero : tensor<f32>) {
      ^bb0(%each: f32, %so_far: f32):
        %next = arith.addf %each, %so_far : f32
        linalg.yield %next : f32
      } -> tensor<f32>
      return %sum : tensor<f32>
    }
    ```

    The parts are as many as divide the longest dimension: a prime number of tokens is
    one sum. Sums that the runtime has are no loops by then (`convert-cp-to-calls`).
    See test/Transforms/split-sums.mlir.
  }];
  let options = [Option<"least", "least", "int64_t", "1024",
                        "How many terms a sum that is split has">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ElideBuffers : Pass<"cp-elide-buffers", "::mlir::func::FuncOp"> {
  let summary = "Let ops write where their results will be put";
  let description = [{
    Where an op writes to a tensor without values, and what it gives is then put
    into a result of the function or into a slice of another tensor, it writes there
    at once, where nothing reads by then what was there or what it writes over. Upstream's
    `eliminateEmptyTensors` on an entry function, whose one block lets the order of ops be
    known beforehand. See test/Transforms/elide-buffers.mlir and
    test/Integration/aliases.test.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanMemory : Pass<"cp-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Give every buffer of a rank its place in one arena";
  let description = [{
    An entry function is one block and hands out no buffer of its own, so the life
    of each allocation is known. All become views of one allocation, which
    `convert-cp-to-runtime` makes the rank's arena: taken in the first step, kept
    for the next ones. Buffers of one place and type share a view, and equal views
    of it are one. Its size stands on the function as `cp.arena`; a remark of
    category `memory` gives it beside the largest set of buffers that are live at
    one time. See test/Transforms/plan-memory.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def OverlapExchanges : Pass<"cp-overlap-exchanges", "::mlir::func::FuncOp"> {
  let summary = "Let exchanges go on while a rank computes";
  let description = [{
    On buffers, before their places are planned. A deferred call goes on until what
    it writes is touched or what it reads is written to, where a `cp.wait` then
    stands; its buffers live as long.

    - A call of `all_reduce` or `reduce_scatter` is deferred, and waited for before
      the next one at the latest. So sums of gradients, which `cp-hoist-reductions`
      has put where their terms are made, go on behind the backward pass of the
      layer before.
    - A call of `all_gather` on arguments, the parts of parameters, goes up to where
      the one before it has ended: parameters of the next layer come while one is
      computed.

    See test/Transforms/overlap-exchanges.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def OutlineKernels : Pass<"cp-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Move loops into small functions, equal ones shared";
  let description = [{
    Each structured op on buffers becomes a call of a private function. Lowering
    loops costs time that grows with the square of their number in one function,
    and equal layers share their kernels. See test/Transforms/outline-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def EmitDeviceKernels : Pass<"cp-emit-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Make kernels for a device of outlined loops";
  let description = [{
    Beside each private function of cp-outline-kernels, which is for processors,
    the module gets a function of the same name in a module `cp_device`: what one
    thread of a grid does, with a pointer a buffer. All parallel dimensions are
    one index, the last one fastest; dimensions that are summed over are loops.
    `cp.device_threads` of the private function says how many threads there are.
    See test/Transforms/emit-device-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ApproximateMath : Pass<"cp-approximate-math"> {
  let summary = "Write exponentials in f32 as polynomials, for vectors";
  let description = [{
    A call of a library in a loop keeps the loop from being vectorized. An
    exponential in f32 becomes the arithmetic that upstream's polynomial
    approximation gives, right to 2^-21, and 0 below -87.7, where results are no
    normal numbers; other types keep the library's, and tensors, which are no loops
    yet, stay as they are. It pays on processors with fused multiply-adds. See
    test/Transforms/approximate-math.mlir. With `all`, for code that has no library,
    so do all functions in f32 for which upstream has one.
  }];
  let options = [Option<"all", "all", "bool", "false",
                        "All functions, not exponentials alone">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandElementwise : Pass<"cp-expand-elementwise"> {
  let summary = "Write elementwise ops without machine code as others";
  let description = [{
    For loops of a rank: `math.sincos`, `math.isinf`, `math.isnormal`, `math.clampf`
    and divisions that round up or down become simpler ops; `math.expm1` becomes an
    exponential of which what is small is kept, which upstream's lowering does not
    do; and conversions between
    f32 and bf16 become arithmetic on their bits, rounded to nearest even, NaN kept:
    processors without bf16 have no instruction for them. See
    test/Transforms/expand-elementwise.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def ConvertToRuntime : Pass<"convert-cp-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turn entry functions into flat lists of runtime calls";
  let description = [{
    An entry function becomes `void(cprt_context *, cprt_stream *, void **)`, the
    last one the pointers of its arguments. Where buffers begin, shapes, strides and
    attributes go to one constant table for a function, a record for each call. So a
    call is two ops: `cp_next`, which writes the pointers of the next record's
    buffers to a table and gives its descriptor, and the call, which passes pointers
    only. Outlined kernels take their pointers from the table too. See
    test/Transforms/convert-to-runtime.mlir.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CP_TRANSFORMS_LOWERINGPASSES_TD
