// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c1(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{'cp.reshard' op reshard_c1: element types must agree, but 'f32' and 'f64' were found}}
  %0 = cp.reshard %x : tensor<8xf32, #whole> to tensor<8xf64, #whole>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c1_shape(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{reshard_c1: the result must have shape [8], but has [4]}}
  %0 = cp.reshard %x : tensor<8xf32, #whole> to tensor<4xf32, #whole>
  return
}

// -----

func.func @reshard_c2(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c2: the result must have a layout, or 'from' and 'to' must both be there}}
  %0 = cp.reshard %x : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c2_half(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c2: the result must have a layout, or 'from' and 'to' must both be there}}
  %0 = "cp.reshard"(%x) {from = #whole} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#matrix = #cp.layout<#mesh, [{}, {}]>
func.func @reshard_c2_rank(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c2: 'from' and 'to' must have the rank of the types, 1 and 1}}
  %0 = cp.reshard %x from #matrix to #matrix : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

#a = #cp.layout<#cp.mesh<"cp" = 4>, [{}]>
#b = #cp.layout<#cp.mesh<"cp" = 8>, [{}]>
func.func @reshard_c3(%x: tensor<8xf32, #a>) {
  // expected-error @below {{reshard_c3: refine_c1: expected meshes of as many ranks, but 'cp=4' has 4 and 'cp=8' has 8}}
  %0 = cp.reshard %x : tensor<8xf32, #a> to tensor<8xf32, #b>
  return
}

// -----

#a = #cp.layout<#cp.mesh<"a" = 2, "b" = 3>, [{}]>
#b = #cp.layout<#cp.mesh<"a" = 3, "b" = 2>, [{}]>
func.func @reshard_c3_strides(%x: tensor<8xf32, #a>) {
  // expected-error @below {{reshard_c3: refine_c2: neighbours on axis "a" of 'a=2,b=3' are 3 ranks apart and on axis "a" of 'a=3,b=2' are 2 ranks apart}}
  %0 = cp.reshard %x : tensor<8xf32, #a> to tensor<8xf32, #b>
  return
}

// -----

#a = #cp.layout<#cp.mesh<"cp" = 4>, [{"cp" zigzag}]>
#b = #cp.layout<#cp.mesh<"dp" = 2, "tp" = 2>, [{"dp"}]>
func.func @reshard_c3_zigzag(%x: tensor<8xf32, #a>) {
  // expected-error @below {{reshard_c3: refine_c3: a zigzag cut over axis "cp" of 'cp=4', which is 2 axes of 'cp/0=2,cp/1=2' on the same ranks}}
  %0 = cp.reshard %x : tensor<8xf32, #a> to tensor<8xf32, #b>
  return
}

// -----

#a = #cp.layout<#cp.mesh<"cp" = 4>, [{}]>
#b = #cp.layout<#cp.mesh<"tp" = 4>, [{}]>
func.func @reshard_c3_local(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c3: in the local view both layouts must be of one mesh, but #cp.mesh<"cp" = 4> and #cp.mesh<"tp" = 4> were found; run cp-unify-meshes before cp-partition}}
  %0 = cp.reshard %x from #a to #b : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

#whole = #cp.layout<#cp.mesh<"dp" = 2, "cp" = 2>, [{"dp"}]>
#sum = #cp.layout<#cp.mesh<"tp" = 4>, [{}], partial = {"tp"}>
func.func @reshard_c4_meshes(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{reshard_c4: axis "cp" cannot become partial: it does not cut the source}}
  %0 = cp.reshard %x : tensor<8xf32, #whole> to tensor<8xf32, #sum>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
#sum = #cp.layout<#mesh, [{}], partial = {"cp"}>
func.func @reshard_c4(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{reshard_c4: axis "cp" cannot become partial: it does not cut the source}}
  %0 = cp.reshard %x : tensor<8xf32, #whole> to tensor<8xf32, #sum>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
#sum = #cp.layout<#mesh, [{}], partial = {"cp"}>
func.func @reshard_c4_local(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c4: axis "cp" cannot become partial}}
  %0 = cp.reshard %x from #whole to #sum : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c2_global(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{reshard_c2: the types have layouts, so 'from' and 'to' must not be there; remove them}}
  %0 = cp.reshard %x from #whole to #whole
      : tensor<8xf32, #whole> to tensor<8xf32, #whole>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c2_mixed(%x: tensor<8xf32, #whole>) {
  // expected-error @below {{reshard_c2: the result must have a layout, or 'from' and 'to' must both be there and no layout in a type}}
  %0 = cp.reshard %x from #whole to #whole : tensor<8xf32, #whole> to tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @reshard_c2_result_rank(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c2: 'from' and 'to' must have the rank of the types, 1 and 2}}
  %0 = cp.reshard %x from #whole to #whole : tensor<8xf32> to tensor<8x1xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
#cut = #cp.layout<#mesh, [{"cp"}]>
func.func @reshard_c5(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c5: the types must be parts of one shape, but are parts of [32] and [8]}}
  %0 = cp.reshard %x from #cut to #whole : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

// Two layouts that are equal, but an identity that is none.
#cut = #cp.layout<#cp.mesh<"cp" = 4>, [{"cp"}]>
func.func @reshard_c5_identity(%x: tensor<8xf32>) {
  // expected-error @below {{reshard_c5: the types must be parts of one shape, but are parts of [32] and [16]}}
  %0 = cp.reshard %x from #cut to #cut : tensor<8xf32> to tensor<4xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
#zigzag = #cp.layout<#mesh, [{"cp" zigzag}]>
func.func @reshard_c5_parts(%x: tensor<3xf32>) {
  // expected-error @below {{reshard_c5: layout_c5: dimension 0 of size 12 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.reshard %x from #zigzag to #whole : tensor<3xf32> to tensor<12xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
#cut = #cp.layout<#mesh, [{"cp"}]>
func.func @reshard_c5_overflow(%x: tensor<9223372036854775807xf32>) {
  // expected-error @below {{reshard_c5: a size of 9223372036854775807 times 4 is beyond 64 bits; make it smaller}}
  %0 = cp.reshard %x from #cut to #whole
      : tensor<9223372036854775807xf32> to tensor<4xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @below {{invalid kind of type specified: expected builtin.tensor}}
  %0 = cp.reshard %x : tensor<*xf32> to tensor<8xf32, #whole>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 3>
#whole = #cp.layout<#mesh, [{}]>
#given = #cp.layout<#mesh, [{"cp" sizes [4, 0, 7]}]>
func.func @reshard_c5_sizes(%x: tensor<4xf32>) {
  // expected-error @below {{reshard_c5: dimension 0 of a part must have room for the largest of [4, 0, 7], but has 4}}
  %0 = cp.reshard %x from #given to #whole : tensor<4xf32> to tensor<11xf32>
  return
}
