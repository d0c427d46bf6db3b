// RUN: %cp-opt %s --cp-differentiate --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"cp" = 2>
// expected-error @below {{differentiate_c1: has layouts already (cp.view = "global"); differentiate it before it is sharded}}
func.func @main(%x: tensor<f32> {cp.param = "x"}) -> tensor<f32> attributes {cp.view = "global"} {
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32> {cp.param = "x"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{differentiate_c1: a rank's program is a list of calls without branches and loops, but this is a loop}}
  %0 = scf.for %i = %c0 to %c4 step %c4 iter_args(%s = %x) -> tensor<f32> {
    %1 = arith.addf %s, %s : tensor<f32>
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32> {cp.param = "x"}, %m: memref<4xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{differentiate_c1: works on buffers, and only tensors have derivatives; differentiate the program while it is on tensors}}
  %0 = memref.load %m[%c0] : memref<4xf32>
  return %x : tensor<f32>
}

// -----

// expected-error @below {{differentiate_c1: has several blocks; give the program what one step computes}}
func.func @main(%x: tensor<f32> {cp.param = "x"}) -> tensor<f32> {
  cf.br ^end
^end:
  return %x : tensor<f32>
}

// -----

// expected-error @below {{differentiate_c2: has no argument with cp.param of floats; name what to differentiate by in the option wrt}}
func.func @main(%x: tensor<f32>, %ids: tensor<4xi32> {cp.param = "ids"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{differentiate_c2: none of its 2 results has cp.name = "loss"; name the loss so, or derive from cotangents of all results (cp-differentiate=cotangents, and of cp-shard-pipeline gradients=cotangents)}}
func.func @main(%x: tensor<f32> {cp.param = "x"}) -> (tensor<f32>, tensor<f32>) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{differentiate_c2: the loss must be one float (tensor<f32>, say), but result 0 is 'tensor<4xf32>'; sum it up, or derive from cotangents}}
func.func @main(%x: tensor<4xf32> {cp.param = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<f32> {cp.param = "embedding"}) -> tensor<f32> {
  %0 = arith.addf %x, %x : tensor<f32>
  // expected-error @below {{differentiate_c3: has no derivative, but lies between argument 'embedding' and the loss; implement AdjointOpInterface for it, or keep gradients from it by cp.stop_gradient}}
  %1 = math.round %0 : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// What nothing of the loss depends on needs no derivative.
func.func @main(%x: tensor<f32> {cp.param = "x"}) -> (tensor<f32> {cp.name = "loss"}, tensor<f32>) {
  %1 = math.round %x : tensor<f32>
  return %x, %1 : tensor<f32>, tensor<f32>
}

// -----

// expected-warning @below {{the loss does not depend on 'y', whose gradient is 0}}
func.func @main(%x: tensor<f32> {cp.param = "x"}, %y: tensor<4xf32> {cp.param = "y"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {cp.param = "x"}) -> tensor<f32> {
  %start = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{differentiate_c4: reduces by something else than a sum ('arith.addf' of the result so far), which has no derivative here; write it so that one operand of the last addition is the sum}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %most: f32):
    %1 = arith.maximumf %in, %most : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {cp.param = "x"}, %i: tensor<2xf32>, %j: tensor<3xf32>) -> tensor<f32> {
  %start = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{differentiate_c4: operand 0 is read by the map affine_map<(d0, d1) -> (d0 + d1)>, and only one by which each loop indexes at most one dimension has a derivative; use tensor.extract_slice, or a tensor of a dimension less}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]} ins(%x, %i, %j : tensor<4xf32>, tensor<2xf32>, tensor<3xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %a: f32, %b: f32, %sum: f32):
    %1 = arith.addf %in, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {cp.param = "x"}, %i: index) -> tensor<f32> {
  // expected-error @below {{differentiate_c4: has a derivative where its offsets and sizes are constants and its strides 1; make them so}}
  %0 = tensor.extract_slice %x[%i] [1] [1] : tensor<4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// In the local view what a reshard exchanges is known only when it is lowered.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{"cp"}]>
#whole = #cp.layout<#mesh, [{}]>
func.func @main(%x: tensor<2xf32> {cp.param = "x"}) -> (tensor<4xf32>, tensor<f32> {cp.name = "loss"})
    attributes {cp.view = "local"} {
  %loss = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{differentiate_c1: has no collective yet; run cp-lower-reshards first}}
  %0 = cp.reshard %x from #rows to #whole : tensor<2xf32> to tensor<4xf32>
  return %0, %loss : tensor<4xf32>, tensor<f32>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @main(%x: tensor<2xf32> {cp.param = "x"}) -> tensor<f32> attributes {cp.view = "local"} {
  // expected-error @below {{differentiate_c3: combines summaries by #cp.combine<"affine", batch_dims = 0>, whose derivative is not known; keep gradients from it by cp.stop_gradient, or differentiate before the program is sharded}}
  %prefix = cp.scan_state %x over ["cp"] of #mesh
      {combine = #cp.combine<"affine", batch_dims = 0>} : tensor<2xf32>
  %0 = tensor.extract_slice %prefix[0] [1] [1] : tensor<2xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<1x16x2x8xf32> {cp.param = "x"}, %a: tensor<2xf32>,
    %b: tensor<1x16x1x4xf32>, %chunks: tensor<1x1x2x8x4xf32>, %dt: tensor<1x16x2xf32>,
    %pd: tensor<1x2xf32>, %ps: tensor<1x2x8x4xf32>) -> tensor<f32>
    attributes {cp.view = "local"} {
  // expected-error @below {{differentiate_c3: what is kept must come from one cp.ssd_states, of whose tokens the derivative is; give it both results of one}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%b) kept(%chunks, %dt) prefix(%pd, %ps)
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x1x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  %0 = tensor.extract_slice %y[0, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1]
      : tensor<1x16x2x8xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<?x4xf32> {cp.param = "x"}) -> tensor<?x4xf32> {
  // expected-error @below {{differentiate_c1: has a 'tensor<?x4xf32>', and only tensors of known sizes have derivatives here; give the program for one length of sequence}}
  %0 = math.exp %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

#mesh = #cp.mesh<"cp" = 2>
// expected-error @below {{differentiate_c1: result 0 is a partial sum; add it up, by a cp.all_reduce}}
func.func @terms(%x: tensor<4xf64> {cp.param = "x", cp.layout = #cp.layout<#mesh, [{}]>})
    -> (tensor<4xf64> {cp.layout = #cp.layout<#mesh, [{}], partial = {"cp"}>})
    attributes {cp.view = "local"} {
  %0 = math.exp %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// expected-error @below {{differentiate_c2: arguments 0 and 1 both have the name 'w', so nothing says whose gradient a result is; give each a name of its own}}
func.func @main(%x: tensor<f64> {cp.name = "w"}, %w: tensor<f64> {cp.param = "w"})
    -> tensor<f64> {
  %0 = arith.mulf %x, %w : tensor<f64>
  return %0 : tensor<f64>
}

// -----

// A result that reads where the sum of another one stands.
func.func @main(%x: tensor<4xf64> {cp.param = "x"}) -> tensor<f64> {
  %z = arith.constant dense<0.0> : tensor<f64>
  // expected-error @below {{differentiate_c4: reduces by something else than a sum ('arith.addf' of the result so far), which has no derivative here; write it so that one operand of the last addition is the sum, and that nothing but the result reads either}}
  %0:2 = linalg.reduce ins(%x, %x : tensor<4xf64>, tensor<4xf64>) outs(%z, %z : tensor<f64>, tensor<f64>) dimensions = [0]
    (%a: f64, %b: f64, %c: f64, %d: f64) {
      %s = arith.addf %a, %c : f64
      %t = arith.addf %s, %d : f64
      linalg.yield %s, %t : f64, f64
    }
  return %0#1 : tensor<f64>
}

// -----

// Two rows of %w stay what they were.
func.func @main(%x: tensor<4xf64> {cp.param = "x"}, %w: tensor<3x4xf64> {cp.param = "w"}) -> tensor<f64> {
  // expected-error @below {{differentiate_c4: leaves elements of operand 1 as they are, by the map affine_map<(d0) -> (0, d0)>, and only what is written whole has a derivative here; use tensor.insert_slice}}
  %0 = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (0, c)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%w : tensor<3x4xf64>) {
  ^bb0(%a: f64, %b: f64):
    %e = math.exp %a : f64
    linalg.yield %e : f64
  } -> tensor<3x4xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<3x4xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  return %1 : tensor<f64>
}

// -----

func.func @main(%x: tensor<2x4xf64> {cp.param = "x"}, %w: tensor<2x4xf64> {cp.param = "w"}) -> tensor<f64> {
  %e = tensor.empty() : tensor<2x4xf64>
  // expected-error @below {{differentiate_c3: its body reads a value that is no operand of it, and only operands have derivatives; make it an operand, or keep gradients from it by cp.stop_gradient}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x4xf64>) outs(%e : tensor<2x4xf64>) {
  ^bb0(%a: f64, %b: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %v = tensor.extract %w[%i, %j] : tensor<2x4xf64>
    %s = arith.mulf %v, %a : f64
    linalg.yield %s : f64
  } -> tensor<2x4xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<2x4xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  return %1 : tensor<f64>
}

// -----

func.func @main(%w: tensor<4xf64> {cp.param = "w"}) -> tensor<f64> {
  // expected-error @below {{differentiate_c3: has no derivative, but lies between argument 'w' and the loss; implement AdjointOpInterface for it, or keep gradients from it by cp.stop_gradient}}
  %0 = tensor.generate {
  ^bb0(%i: index):
    %v = tensor.extract %w[%i] : tensor<4xf64>
    tensor.yield %v : f64
  } : tensor<4xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4xf64>) outs(%z : tensor<f64>) dimensions = [0]
  return %1 : tensor<f64>
}

// -----

// expected-error @below {{differentiate_c1: result 1 is the gradient of 'x' already, and those of two passes would have the same names; differentiate the program once}}
func.func @main(%x: tensor<f32> {cp.param = "x"}) -> (tensor<f32> {cp.name = "loss"}, tensor<f32> {cp.gradient = "x"}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// What goes through a number's bits would be lost.

func.func @main(%x: tensor<4xf32> {cp.param = "x"}) -> tensor<f32> {
  %bits = arith.bitcast %x : tensor<4xf32> to tensor<4xi32>
  %even = arith.constant dense<-2> : tensor<4xi32>
  %kept = arith.andi %bits, %even : tensor<4xi32>
  // expected-error @below {{differentiate_c3: has no derivative}}
  %y = arith.bitcast %kept : tensor<4xi32> to tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce {arith.addf} ins(%y : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  return %sum : tensor<f32>
}
