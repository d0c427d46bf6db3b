// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4" --split-input-file --verify-diagnostics

// Programs that once ended the compiler instead of an error, or without one.

#whole = #cp.layout<#cp.mesh<"cp" = 4>, [{}]>
// expected-warning @below {{no argument has cp.sequence}}
func.func @local_reshard(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'cp.reshard' op is of the local view ('from' and 'to'), but its function has no cp.view}}
  %0 = cp.reshard %x from #whole to #whole : tensor<8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Vectors have no layouts; nothing is wrong here.
func.func @vector_constant(%x: tensor<8xf32> {cp.sequence = 0 : i64})
    -> (tensor<8xf32>, vector<4xf32>) {
  %0 = arith.constant dense<1.0> : vector<4xf32>
  %1 = arith.addf %0, %0 : vector<4xf32>
  return %x, %1 : tensor<8xf32>, vector<4xf32>
}

// -----

func.func @buffers(%x: tensor<8xf32> {cp.sequence = 0 : i64}, %m: memref<8xf32>)
    -> tensor<8xf32> {
  %0 = arith.constant 0.0 : f32
  // expected-error @below {{'linalg.generic' op works on buffers, which have no layouts; shard the program while it is on tensors}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]} outs(%m : memref<8xf32>) {
  ^bb0(%a: f32):
    linalg.yield %a : f32
  }
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{must be below 1, but is 9223372036854775807}}
func.func @huge_dimension(
    %x: tensor<8xf32> {cp.sequence = 9223372036854775807 : i64})
    -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{must be below 0, but is 0}}
func.func @rank_zero(%x: tensor<f32> {cp.sequence = 0 : i64}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{assign_c1}}
func.func @dynamic(%x: tensor<?xf32> {cp.sequence = 0 : i64}) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// Every size is zero; nothing is wrong here.
func.func @empty(%x: tensor<0x0x0x0xf32> {cp.sequence = 1 : i64},
                 %dt: tensor<0x0x0xf32>, %a: tensor<0xf32>,
                 %b: tensor<0x0x1x0xf32>) -> tensor<0x0x0x0xf32> {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<0x0x0x0xf32>, tensor<0x0x0xf32>, tensor<0xf32>,
         tensor<0x0x1x0xf32>, tensor<0x0x1x0xf32>)
      -> (tensor<0x0x0x0xf32>, tensor<0x0x0x0xf32>)
  return %y : tensor<0x0x0x0xf32>
}

// -----

// So there is where a batch has no sequence at all.
func.func @no_batch(%x: tensor<0x8x2xf32> {cp.sequence = 1 : i64},
    %w: tensor<2x4xf32>, %rows: tensor<0x3x2xf32>,
    %dy: tensor<0x8x2xf32> {cp.sequence = 1 : i64})
    -> (tensor<0x8x2xf32> {cp.sequence = 1 : i64}, tensor<2x4xf32>, tensor<0x3x2xf32>) {
  %dx, %dw, %db, %drows = cp.conv1d_grad %x weight(%w) initial(%rows) from %dy
      : (tensor<0x8x2xf32>, tensor<2x4xf32>, tensor<0x8x2xf32>, tensor<0x3x2xf32>)
      -> (tensor<0x8x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<0x3x2xf32>)
  return %dx, %dw, %drows : tensor<0x8x2xf32>, tensor<2x4xf32>, tensor<0x3x2xf32>
}

// -----

// Upstream takes this index for 0.
func.func @merged(%x: tensor<2x4xf32> {cp.sequence = 1 : i64}) -> tensor<8xf32> {
  // expected-error @below {{'tensor.collapse_shape' op must list each of the 2 dimensions that it merges or splits once and in order}}
  %0 = tensor.collapse_shape %x [[-9223372036854775808, 1]]
      : tensor<2x4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// As many stripes as tokens, which no list of them would bear.
func.func @stripes(%x: tensor<2147483648x2xf32,
    #cp.layout<#cp.mesh<"cp" = 4>, [{"cp" striped}, {}]>>)
    -> tensor<2147483648x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{"cp"}, {}]>>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x
      : tensor<2147483648x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{"cp" striped}, {}]>>
      to tensor<2147483648x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{"cp"}, {}]>>
  return %0 : tensor<2147483648x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{"cp"}, {}]>>
}
