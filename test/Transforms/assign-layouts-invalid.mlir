// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=sequence" --split-input-file --verify-diagnostics

// expected-error @below {{must be below 3, but is 3}}
func.func @no_such_dimension(%x: tensor<1x16x24xf32> {cp.sequence = 3 : i64})
    -> tensor<1x16x24xf32> {
  return %x : tensor<1x16x24xf32>
}

// -----

func.func @assign_c2(%x: tensor<1x16x?xf32> {cp.sequence = 1 : i64},
                     %w: tensor<?x4xf32>) -> tensor<1x16x?xf32> {
  // expected-error @below {{'cp.conv1d' op assign_c2: a dimension that is cut over axis "cp" must have a known size, but is '?'; write the number into the types}}
  %0 = cp.conv1d %x weight(%w) {strategy = "hidden"}
      : (tensor<1x16x?xf32>, tensor<?x4xf32>) -> tensor<1x16x?xf32>
  return %0 : tensor<1x16x?xf32>
}

// -----

func.func @hidden_c1(%x: tensor<1x16x3x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x3xf32>, %a: tensor<3xf32>, %b: tensor<1x16x1x4xf32>)
    -> tensor<1x16x3x8xf32> {
  // expected-error @below {{'cp.ssd' op hidden_c1: 4 ranks cannot share 3 heads; use fewer ranks there, or mixer=sequence, which cuts heads over tp alone}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) {strategy = "hidden"}
      : (tensor<1x16x3x8xf32>, tensor<1x16x3xf32>, tensor<3xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x3x8xf32>, tensor<1x3x8x4xf32>)
  return %y : tensor<1x16x3x8xf32>
}

// -----

// An op without a sharding rule may not see a cut value.

func.func @verify_c2(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x24xf32> {
  %c0 = arith.constant 0 : index
  %v = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.insert' op verify_c2: has no sharding rule, but operand 1 is cut (#cp.layout<#cp.mesh<"cp" = 4>, [{}, {"cp"}, {}]>); insert a tensor of one element (tensor.insert_slice), or gather the operand by a cp.reshard}}
  %0 = tensor.insert %v into %x[%c0, %c0, %c0] : tensor<1x16x24xf32>
  return %0 : tensor<1x16x24xf32>
}

// -----

// expected-error @below {{'func.func' op must have one block: control flow is not sharded yet}}
func.func @blocks(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<1x16xf32>
}

// -----

// expected-warning @below {{no argument has cp.sequence, so nothing is cut}}
// expected-error @below {{'func.func' op assign_c4: nothing is cut over axis "cp" (4 ranks) of mesh 'cp=4', so its ranks would all do the same work; leave it out of the mesh, name it in axis, batch or tp, or give replicate-unused if that is meant}}
func.func @no_sequence(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  return %x : tensor<1x16xf32>
}

// -----

#mesh = #cp.mesh<"cp" = 2>

// expected-error @below {{'func.func' op unify_c1: refine_c1: expected meshes of as many ranks, but 'cp=4' has 4 and 'cp=2' has 2}}
func.func @other_mesh(%x: tensor<1x16xf32, #cp.layout<#mesh, [{}, {"cp"}]>>) {
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>

// expected-error @below {{'func.func' op unify_c1: refine_c1: expected meshes of as many ranks, but 'cp=4' has 4 and 'cp=2' has 2}}
func.func @other_mesh_pinned(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16xf32, #rows> {
  %0 = cp.reshard %x : tensor<1x16xf32> to tensor<1x16xf32, #rows>
  return %0 : tensor<1x16xf32, #rows>
}

// -----

// A composite op has no rule: it must be opened first.

func.func @composite(%u: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %in: tensor<42x8xf32>, %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>,
    %a: tensor<2xf32>, %d: tensor<2xf32>, %out: tensor<8x16xf32>)
    -> tensor<1x16x8xf32> {
  // expected-error @below {{'cp.mamba_mixer' op verify_c2: has no sharding rule}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb) A_log(%a)
      D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// A reshard of the local view stands in a function of that view.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>
#whole = #cp.layout<#mesh, [{}, {}]>

func.func @local_reshard(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x4xf32> {
  // expected-error @below {{'cp.reshard' op is of the local view ('from' and 'to'), but its function has no cp.view; give it cp.view = "local", or the types layouts}}
  %0 = cp.reshard %x from #whole to #rows
      : tensor<1x16xf32> to tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// Sizes that are not known are no numbers.

// expected-error @below {{'func.func' op assign_c1: the sequence of argument 0 must have a known number of tokens, but is '?' in 'tensor<1x?x8xf32>'; write the number into the type}}
func.func @assign_c1_unknown(%x: tensor<1x?x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x?x8xf32> {
  return %x : tensor<1x?x8xf32>
}

// -----

// An op of a dialect of which nothing is known.

func.func @verify_c2_other(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16xf32> {
  // expected-error @below {{'bufferization.alloc_tensor' op verify_c2: has no sharding rule, but operand 0 is cut (#cp.layout<#cp.mesh<"cp" = 4>, [{}, {"cp"}]>); implement ShardingRuleOpInterface for it, or gather the operand by a cp.reshard}}
  %0 = bufferization.alloc_tensor() copy(%x) : tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}

// -----

func.func @assign_c6_loop(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{'scf.for' op assign_c6: a rank's program is a list of calls without branches and loops, but this is a loop; unroll it, or give the program what one step computes}}
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x)
      -> (tensor<1x16xf32>) {
    %b = arith.addf %a, %x : tensor<1x16xf32>
    scf.yield %b : tensor<1x16xf32>
  }
  return %0 : tensor<1x16xf32>
}

// -----

func.func @assign_c6_branch(%x: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16xf32> {
  %t = arith.constant true
  // expected-error @below {{'scf.if' op assign_c6: a rank's program is a list of calls without branches and loops, but this is a branch; choose by arith.select, or before the program is made}}
  %0 = scf.if %t -> (tensor<1x16xf32>) {
    %b = arith.addf %x, %x : tensor<1x16xf32>
    scf.yield %b : tensor<1x16xf32>
  } else {
    scf.yield %x : tensor<1x16xf32>
  }
  return %0 : tensor<1x16xf32>
}

// -----

func.func @assign_c3(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
                     %w: tensor<8x4xf32>) -> tensor<1x16x8xf32> {
  // expected-error @below {{'cp.conv1d' op assign_c3: 2d cuts heads over the last axis of the sequence and the sequence over the others, so it wants two axes or more, but axis is 'cp'; give two, such as axis=ring,u with mesh=ring=2,u=2}}
  %0 = cp.conv1d %x weight(%w) {strategy = "2d"}
      : (tensor<1x16x8xf32>, tensor<8x4xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// expected-error @below {{assign_c8: result 0 is that of argument 0 by its cp.gradient or cp.updates, but has other sizes; name the right argument}}
func.func @assign_c8(%x: tensor<1x16x24xf32> {cp.name = "x", cp.sequence = 1 : i64},
                     %w: tensor<9x9xf32> {cp.param = "w"})
    -> (tensor<9x9xf32> {cp.gradient = "x"}) {
  return %w : tensor<9x9xf32>
}
