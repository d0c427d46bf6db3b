// RUN: %cp-opt %s --cp-verify-layouts --split-input-file --verify-diagnostics
// RUN: not %cp-opt %s --cp-verify-layouts --split-input-file >/dev/null 2>&1

// Keys that are cut along the sequence, in a form that keeps them here.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#sums = #cp.layout<#mesh, [{}, {}, {"cp"}]>
func.func @local_attention(%q: tensor<1x16x4x2xf32, #rows>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'cp.attention' op verify_c3: dimension 1 of operand 1 cannot be cut for this op, but its layout is #cp.layout<#cp.mesh<"cp" = 2>, [{}, {"cp"}, {}, {}]>}}
  %o, %lse = cp.attention %q, %q, %q
      : (tensor<1x16x4x2xf32, #rows>, tensor<1x16x4x2xf32, #rows>,
         tensor<1x16x4x2xf32, #rows>)
      -> (tensor<1x16x4x2xf32, #rows>, tensor<1x4x16xf32, #sums>)
  return
}

// -----

// Orders that differ between queries and keys.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#folded = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}, {}]>
#sums = #cp.layout<#mesh, [{}, {}, {"cp"}]>
func.func @orders(%q: tensor<1x16x4x2xf32, #rows>,
    %k: tensor<1x16x4x2xf32, #folded>) attributes {cp.view = "global"} {
  // expected-error @below {{'cp.attention' op verify_c4: }}
  %o, %lse = cp.attention %q, %k, %k {form = "ring"}
      : (tensor<1x16x4x2xf32, #rows>, tensor<1x16x4x2xf32, #folded>,
         tensor<1x16x4x2xf32, #folded>)
      -> (tensor<1x16x4x2xf32, #rows>, tensor<1x4x16xf32, #sums>)
  return
}

// -----

// A sum that is still to be made.
#mesh = #cp.mesh<"cp" = 2>
#whole = #cp.layout<#mesh, [{}, {}, {}, {}]>
#sum = #cp.layout<#mesh, [{}, {}, {}, {}], partial = {"cp"}>
#sums = #cp.layout<#mesh, [{}, {}, {}]>
func.func @partial(%q: tensor<1x16x4x2xf32, #sum>,
    %k: tensor<1x16x4x2xf32, #whole>) attributes {cp.view = "global"} {
  // expected-error @below {{'cp.attention' op verify_c6: }}
  %o, %lse = cp.attention %q, %k, %k
      : (tensor<1x16x4x2xf32, #sum>, tensor<1x16x4x2xf32, #whole>,
         tensor<1x16x4x2xf32, #whole>)
      -> (tensor<1x16x4x2xf32, #whole>, tensor<1x4x16xf32, #sums>)
  return
}

// -----

// One axis that cuts heads and the sequence.
#mesh = #cp.mesh<"cp" = 2>
#heads = #cp.layout<#mesh, [{}, {}, {"cp"}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#sums = #cp.layout<#mesh, [{}, {}, {"cp"}]>
func.func @axis_twice(%q: tensor<1x16x4x2xf32, #rows>,
    %k: tensor<1x16x4x2xf32, #heads>) attributes {cp.view = "global"} {
  // expected-error @below {{'cp.attention' op verify_c5: }}
  %o, %lse = cp.attention %q, %k, %k
      : (tensor<1x16x4x2xf32, #rows>, tensor<1x16x4x2xf32, #heads>,
         tensor<1x16x4x2xf32, #heads>)
      -> (tensor<1x16x4x2xf32, #rows>, tensor<1x4x16xf32, #sums>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
// expected-error @below {{layout_c2}}
#rows = #cp.layout<#mesh, [{}, {"cp", "cp"}, {}]>

// -----

// A mask that cp-decompose has not seen.
#mesh = #cp.mesh<"cp" = 2>
#heads = #cp.layout<#mesh, [{}, {}, {"cp"}, {}]>
#whole = #cp.layout<#mesh, [{}, {}]>
#sums = #cp.layout<#mesh, [{}, {"cp"}, {}]>
func.func @masked(%q: tensor<1x16x4x2xf32, #heads>,
    %m: tensor<16x16xi1, #whole>) attributes {cp.view = "global"} {
  // expected-error @below {{'cp.attention' op has a mask, of which no pass but cp-decompose knows; run cp-decompose first}}
  %o, %lse = cp.attention %q, %q, %q mask(%m)
      : (tensor<1x16x4x2xf32, #heads>, tensor<1x16x4x2xf32, #heads>,
         tensor<1x16x4x2xf32, #heads>, tensor<16x16xi1, #whole>)
      -> (tensor<1x16x4x2xf32, #heads>, tensor<1x4x16xf32, #sums>)
  return
}
