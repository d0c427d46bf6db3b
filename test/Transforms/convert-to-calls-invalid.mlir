// RUN: %cp-opt %s --convert-cp-to-calls --split-input-file --verify-diagnostics

func.func @composite(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) -> tensor<1x16x8xf32> {
  // expected-error @below {{'cp.mamba_mixer' op is left over; run cp-shard-pipeline (or, for one rank, cp-decompose) first}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb) A_log(%a)
      D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{"cp"}]>

func.func @reshard(%x: tensor<16xf32>) -> tensor<16xf32, #rows> {
  // expected-error @below {{'cp.reshard' op is left over}}
  %0 = cp.reshard %x : tensor<16xf32> to tensor<16xf32, #rows>
  return %0 : tensor<16xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{"cp"}]>

func.func @layout(%x: tensor<16xf32, #rows>) -> tensor<16xf32, #rows> {
  // expected-error @below {{'math.exp' op still has a layout; run cp-partition first}}
  %0 = math.exp %x : tensor<16xf32, #rows>
  return %0 : tensor<16xf32, #rows>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{'math.exp' op has the type 'tensor<?xf32>', but sizes must be known when a program is lowered}}
  %0 = math.exp %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @masked(%q: tensor<1x16x4x2xf32>, %m: tensor<16x16xi1>)
    -> tensor<1x16x4x2xf32> {
  // expected-error @below {{'cp.attention' op is left over; run cp-shard-pipeline (or, for one rank, cp-decompose) first}}
  %o, %lse = cp.attention %q, %q, %q mask(%m)
      : (tensor<1x16x4x2xf32>, tensor<1x16x4x2xf32>, tensor<1x16x4x2xf32>,
         tensor<16x16xi1>) -> (tensor<1x16x4x2xf32>, tensor<1x4x16xf32>)
  return %o : tensor<1x16x4x2xf32>
}

// -----

func.func @shape(%x: tensor<1x24xf32>) -> tensor<1x12x2xf32> {
  // expected-error @below {{'tensor.expand_shape' op has an output_shape other than the sizes of its result, which is 'tensor<1x12x2xf32>'; write those}}
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [0, 12, 2]
      : tensor<1x24xf32> into tensor<1x12x2xf32>
  return %0 : tensor<1x12x2xf32>
}
