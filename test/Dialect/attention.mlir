// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --canonicalize --cse | FileCheck %s --check-prefix=DEAD

#mesh = #cp.mesh<"ring" = 2, "u" = 3>

// Grouped heads, values of another width than keys; a window and a scale.
// CHECK-LABEL: @attention
// CHECK: %out, %lse = cp.attention %{{.*}}, %{{.*}}, %{{.*}} {form = "2d", scale = 5.000000e-01 : f64, window = 7 : i64} : (tensor<2x12x6x5xbf16>, tensor<2x12x3x5xbf16>, tensor<2x12x3x4xbf16>) -> (tensor<2x12x6x4xbf16>, tensor<2x6x12xf32>)
// An op whose results nobody reads goes.
// DEAD-LABEL: @attention
// DEAD-NEXT: return
func.func @attention(%q: tensor<2x12x6x5xbf16>, %k: tensor<2x12x3x5xbf16>,
                     %v: tensor<2x12x3x4xbf16>) {
  %o, %lse = cp.attention %q, %k, %v
      {causal = true, form = "2d", scale = 0.5 : f64, window = 7}
      : (tensor<2x12x6x5xbf16>, tensor<2x12x3x5xbf16>, tensor<2x12x3x4xbf16>)
      -> (tensor<2x12x6x4xbf16>, tensor<2x6x12xf32>)
  return
}

// Not causal: queries and keys of two sequences.
// CHECK-LABEL: @cross
// CHECK: cp.attention {{.*}} {causal = false} : (tensor<1x?x2x5xf64>
func.func @cross(%q: tensor<1x?x2x5xf64>, %k: tensor<1x9x2x5xf64>)
    -> tensor<1x2x?xf64> {
  %o, %lse = cp.attention %q, %k, %k {causal = false}
      : (tensor<1x?x2x5xf64>, tensor<1x9x2x5xf64>, tensor<1x9x2x5xf64>)
      -> (tensor<1x?x2x5xf64>, tensor<1x2x?xf64>)
  return %lse : tensor<1x2x?xf64>
}

// CHECK-LABEL: @rows
// CHECK: cp.attention_rows {{.*}} over ["ring" striped : 2, "u"] of #{{[a-z0-9]+}} : (tensor<1x4x2x5xf32>
// Nothing travels, so it goes too.
// DEAD-LABEL: @rows
// DEAD-NEXT: return
func.func @rows(%q: tensor<1x4x2x5xf32>, %k: tensor<1x24x1x5xf32>) {
  %o, %lse = cp.attention_rows %q, %k, %k over ["ring" striped : 2, "u"] of #mesh
      : (tensor<1x4x2x5xf32>, tensor<1x24x1x5xf32>, tensor<1x24x1x5xf32>)
      -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  return
}

// CHECK-LABEL: @ring
// CHECK: cp.ring_attention {{.*}} over ["ring" zigzag] of #{{[a-z0-9]+}} : (tensor<1x4x2x5xf32>
// Equal ones travel once; unused ones not at all, on no rank.
// DEAD-LABEL: @ring
// DEAD-COUNT-1: cp.ring_attention
// DEAD-NOT: cp.ring_attention
func.func @ring(%q: tensor<1x4x2x5xf32>, %k: tensor<1x4x1x5xf32>)
    -> (tensor<1x4x2x5xf32>, tensor<1x4x2x5xf32>) {
  %o, %lse = cp.ring_attention %q, %k, %k over ["ring" zigzag] of #mesh
      : (tensor<1x4x2x5xf32>, tensor<1x4x1x5xf32>, tensor<1x4x1x5xf32>)
      -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  %again, %lse_again = cp.ring_attention %q, %k, %k over ["ring" zigzag] of #mesh
      : (tensor<1x4x2x5xf32>, tensor<1x4x1x5xf32>, tensor<1x4x1x5xf32>)
      -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  return %o, %again : tensor<1x4x2x5xf32>, tensor<1x4x2x5xf32>
}

// CHECK-LABEL: @places
// DEAD-LABEL: @places
// CHECK: cp.attention %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) :
// CHECK: cp.attention_rows %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) over ["ring" zigzag] of #{{[a-z0-9]+}} :
// CHECK: cp.ring_attention %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) over ["ring" zigzag] of #{{[a-z0-9]+}} :
func.func @places(%q: tensor<1x4x2x5xf32>, %k: tensor<1x4x1x5xf32>,
                  %whole: tensor<1x8x1x5xf32>, %p: tensor<1x4xi64>)
    -> (tensor<1x4x2x5xf32>, tensor<1x4x2x5xf32>) {
  %o, %lse = cp.attention %q, %k, %k places(%p)
      : (tensor<1x4x2x5xf32>, tensor<1x4x1x5xf32>, tensor<1x4x1x5xf32>,
         tensor<1x4xi64>) -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  %s, %slse = cp.attention_rows %q, %whole, %whole places(%p)
      over ["ring" zigzag] of #mesh
      : (tensor<1x4x2x5xf32>, tensor<1x8x1x5xf32>, tensor<1x8x1x5xf32>,
         tensor<1x4xi64>) -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  %r, %rlse = cp.ring_attention %q, %k, %k places(%p) over ["ring" zigzag] of #mesh
      : (tensor<1x4x2x5xf32>, tensor<1x4x1x5xf32>, tensor<1x4x1x5xf32>,
         tensor<1x4xi64>) -> (tensor<1x4x2x5xf32>, tensor<1x2x4xf32>)
  return %o, %r : tensor<1x4x2x5xf32>, tensor<1x4x2x5xf32>
}
